SELECT version()

SELECT now(), current_date, current_timestamp

FROM orders

FROM orders SELECT status, count(*) GROUP BY status

FROM customers WHERE country = 'AT' LIMIT 5

SHOW TABLES

SHOW ALL TABLES

DESCRIBE orders

DESCRIBE SELECT * FROM orders

SUMMARIZE orders

PRAGMA table_info('orders')

PRAGMA version

PRAGMA database_size

SELECT table_name, estimated_size FROM duckdb_tables()

SELECT column_name, data_type FROM duckdb_columns() WHERE table_name = 'orders'

SELECT name, value FROM duckdb_settings() WHERE name = 'threads'

SELECT function_name FROM duckdb_functions() WHERE function_name = 'sum' LIMIT 1

SELECT table_name FROM information_schema.tables

SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 'customers'

EXPLAIN SELECT * FROM orders

EXPLAIN ANALYZE SELECT count(*) FROM orders

SELECT * EXCLUDE (email) FROM customers

SELECT * REPLACE (upper(name) AS name) FROM customers

SELECT * RENAME (name AS customer) FROM customers

SELECT COLUMNS('.*_at') FROM orders

SELECT min(COLUMNS(*)) FROM samples

SELECT status, count(*) FROM orders GROUP BY ALL

SELECT * FROM orders ORDER BY ALL

SELECT status, sum(total) AS revenue FROM orders GROUP BY ALL ORDER BY ALL DESC

SELECT id, total FROM orders QUALIFY row_number() OVER (PARTITION BY customer_id ORDER BY created_at DESC) = 1

SELECT date_trunc('day', created_at) AS day, count(*) FROM orders GROUP BY 1 ORDER BY 1

SELECT date_trunc('month', created_at) AS month, sum(total) FROM orders GROUP BY ALL

SELECT time_bucket(INTERVAL '5 minutes', taken_at) AS time, avg(value) FROM samples GROUP BY 1

SELECT epoch(taken_at) AS time, value FROM samples

SELECT epoch_ms(taken_at) AS time, value FROM samples

SELECT strftime(created_at, '%Y-%m-%d') AS day, count(*) FROM orders GROUP BY 1

SELECT strptime('15.11.2026', '%d.%m.%Y')

SELECT extract('hour' FROM created_at) AS hour, count(*) FROM orders GROUP BY 1

SELECT year(created_at), month(created_at), day(created_at), dayname(created_at), monthname(created_at) FROM orders

SELECT datediff('hour', created_at, shipped_at) AS hours FROM orders WHERE shipped_at IS NOT NULL

SELECT date_diff('day', min(created_at), max(created_at)) AS days FROM orders

SELECT count(*) FROM orders WHERE created_at > now()::TIMESTAMP - INTERVAL 30 DAY

SELECT count(*) FROM orders WHERE created_at::DATE = DATE '2026-11-14'

SELECT age(max(created_at)) FROM orders

SELECT last_day(created_at), dayofweek(created_at), week(created_at), quarter(created_at) FROM orders

SELECT unnest(generate_series(DATE '2026-11-01', DATE '2026-11-05', INTERVAL 1 DAY)) AS day

SELECT range AS hour FROM range(24)

SELECT d.range AS day, count(o.id) FROM range(DATE '2026-11-01', DATE '2026-11-15', INTERVAL 1 DAY) d LEFT JOIN orders o ON o.created_at::DATE = d.range GROUP BY 1 ORDER BY 1

SELECT count(*) FILTER (WHERE status = 'paid') AS paid, count(*) FILTER (status = 'open') AS waiting FROM orders

SELECT median(total), quantile_cont(total, 0.95), quantile_disc(total, [0.25, 0.75]), mode(status) FROM orders

SELECT approx_count_distinct(customer_id), approx_quantile(total, 0.5) FROM orders

SELECT stddev(total), var_samp(total), skewness(total), kurtosis(total), entropy(status) FROM orders

SELECT arg_max(id, total) AS largest, arg_min(id, total) AS smallest FROM orders

SELECT max_by(name, salary), min_by(name, salary) FROM employees

SELECT first(name), last(name), any_value(country) FROM customers

SELECT string_agg(name, ', ' ORDER BY name) FROM customers

SELECT list(name ORDER BY name) FROM customers

SELECT country, array_agg(name) FROM customers GROUP BY country

SELECT histogram(status) FROM orders

SELECT list_sort(list(DISTINCT country)) FROM customers

SELECT [x * 2 FOR x IN [1, 2, 3] IF x > 1] AS doubled

SELECT list_transform([1, 2, 3], lambda x: x + 1)

SELECT list_filter([1, 2, 3], lambda x: x > 1), list_sum([1, 2]), list_contains([1], 1), len([1, 2])

SELECT s.a, s['b'] FROM (SELECT {'a': 1, 'b': 'x'} AS s)

SELECT map {'a': 1}['a']

SELECT struct_pack(name := name, city := city) FROM customers

SELECT unnest([1, 2, 3]) AS n

SELECT payload ->> '$.page' AS page, count(*) FROM events GROUP BY 1

SELECT json_extract_string(payload, '$.user.name') FROM events

SELECT json_extract(payload, '$.tags[0]'), json_array_length(payload, '$.tags') FROM events

SELECT unnest(from_json(payload -> '$.tags', '["VARCHAR"]')) AS tag FROM events

SELECT to_json(c) FROM customers c

SELECT name || ' (' || country || ')' AS label FROM customers

SELECT concat_ws(', ', name, city, country), format('{} {}', name, city), printf('%s', name) FROM customers

SELECT split_part(email, '@', 2) AS domain, count(*) FROM customers GROUP BY 1

SELECT regexp_extract(email, '@(.*)', 1), regexp_matches(email, 'com$'), regexp_replace(email, '@.*', '') FROM customers

SELECT string_split(email, '@')[2] AS domain FROM customers

SELECT name[1] AS letter, name[1:3] AS beginning, left(name, 2), right(name, 2) FROM customers

SELECT lpad(id::VARCHAR, 8, '0') AS number FROM orders

SELECT name, bar(stock, 0, 100, 20) AS stock FROM products

SELECT repeat('▇', (stock / 10)::INT) FROM products

SELECT levenshtein('duck', 'dock'), jaccard('duck', 'dock'), soundex_like FROM (SELECT 1 AS soundex_like)

SELECT name ILIKE 'a%', name SIMILAR TO 'A.*', name ~ 'A.*', starts_with(name, 'A') FROM customers

SELECT coalesce(email, 'none'), ifnull(email, 'none'), if(plan = 'pro', 1, 0) FROM customers

SELECT TRY_CAST('x' AS INTEGER), '12'::INT, CAST(total AS VARCHAR) FROM orders

SELECT total::DOUBLE / 3, 7 // 2, 7 % 2, 2 ** 8, 5 & 3, 5 | 2, xor(5, 1) FROM orders

SELECT greatest(1, 2), least(1, 2), abs(-1), ceil(1.2), floor(1.8), round(2.567, 1), sqrt(16), ln(10)

SELECT md5(email), sha256(email), hash(email) FROM customers

PIVOT orders ON status USING count(*)

PIVOT orders ON status USING sum(total) GROUP BY currency

SELECT * FROM (PIVOT samples ON metric USING avg(value) GROUP BY host)

UNPIVOT (SELECT 1 AS a, 2 AS b) ON a, b INTO NAME key VALUE amount

SELECT * FROM orders USING SAMPLE 10 ROWS

SELECT * FROM orders USING SAMPLE 50%

SELECT * FROM samples s ASOF JOIN events e ON s.taken_at >= e.taken_at

SELECT * FROM orders SEMI JOIN customers ON customers.id = orders.customer_id

SELECT * FROM customers ANTI JOIN orders ON customers.id = orders.customer_id

SELECT * FROM orders POSITIONAL JOIN customers

SELECT c.name, o.total FROM customers c, LATERAL (SELECT total FROM orders WHERE customer_id = c.id LIMIT 1) o

SELECT 1 AS a UNION ALL BY NAME SELECT 2 AS a

SELECT status, currency, count(*) FROM orders GROUP BY GROUPING SETS ((status), (currency), ())

SELECT status, count(*) FROM orders GROUP BY ROLLUP (status)

SELECT id, sum(total) OVER (ORDER BY created_at RANGE BETWEEN INTERVAL 7 DAYS PRECEDING AND CURRENT ROW) FROM orders

SELECT host, taken_at, value - lag(value) OVER (PARTITION BY host, metric ORDER BY taken_at) AS change FROM samples

VALUES (1, 'one'), (2, 'two')

SELECT * FROM (VALUES (1, 'one')) t (n, word)

TABLE orders

SELECT count(*) AS n FROM orders LIMIT 50%

SELECT sum(quantity * unit_price) AS revenue FROM order_items
