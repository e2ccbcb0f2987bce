SELECT sqlite_version()

SELECT name, type FROM sqlite_master ORDER BY name

SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'

SELECT sql FROM sqlite_master WHERE name = 'orders'

PRAGMA table_info(orders)

PRAGMA table_list

PRAGMA index_list('orders')

PRAGMA foreign_key_list(orders)

PRAGMA page_count

PRAGMA page_size

PRAGMA user_version

SELECT * FROM pragma_table_info('orders')

SELECT m.name, p.name, p.type FROM sqlite_master m JOIN pragma_table_info(m.name) p WHERE m.type = 'table'

SELECT page_count * page_size AS bytes FROM pragma_page_count(), pragma_page_size()

EXPLAIN QUERY PLAN SELECT * FROM orders WHERE id = 1

EXPLAIN SELECT 1

SELECT datetime('now')

SELECT date('now'), time('now'), strftime('%s', 'now')

SELECT date('now', 'start of month'), date('now', '-1 day'), date('now', 'weekday 0')

SELECT CURRENT_TIMESTAMP, CURRENT_DATE, CURRENT_TIME

SELECT date(created_at) AS day, COUNT(*) AS orders FROM orders GROUP BY day ORDER BY day

SELECT strftime('%Y-%m', created_at) AS month, SUM(total) FROM orders GROUP BY month

SELECT strftime('%Y-%m-%d %H:00', created_at) AS hour, COUNT(*) FROM orders GROUP BY 1

SELECT strftime('%w', created_at) AS weekday, COUNT(*) FROM orders GROUP BY weekday

SELECT strftime('%H', created_at) AS hour, COUNT(*) FROM orders GROUP BY 1 ORDER BY 1

SELECT CAST(strftime('%s', taken_at) AS INTEGER) AS time, value FROM samples ORDER BY 1

SELECT CAST(strftime('%s', taken_at) AS INTEGER) / 300 * 300 AS time, AVG(value) FROM samples GROUP BY 1

SELECT unixepoch(taken_at) AS time, value FROM samples

SELECT datetime(unixepoch(taken_at) / 60 * 60, 'unixepoch') AS minute, MAX(value) FROM samples GROUP BY 1

SELECT COUNT(*) FROM orders WHERE created_at >= datetime('now', '-30 days')

SELECT COUNT(*) FROM orders WHERE date(created_at) = date('now')

SELECT COUNT(*) FROM orders WHERE created_at BETWEEN '2026-11-01' AND '2026-11-30'

SELECT julianday('now') - julianday(MAX(created_at)) AS days_since FROM orders

SELECT ROUND((julianday(shipped_at) - julianday(created_at)) * 24, 1) AS hours FROM orders WHERE shipped_at IS NOT NULL

SELECT id, datetime(created_at, 'localtime') AS local_time FROM orders

SELECT name || ' (' || country || ')' AS label FROM customers

SELECT group_concat(name, ', ') AS names FROM customers

SELECT country, group_concat(DISTINCT city) FROM customers GROUP BY country

SELECT ifnull(email, 'none'), iif(plan = 'pro', 1, 0) FROM customers

SELECT substr(email, instr(email, '@') + 1) AS domain, COUNT(*) FROM customers GROUP BY 1

SELECT printf('%08d', id) AS number FROM orders

SELECT printf('%.2f', SUM(total)) AS total FROM orders

SELECT format('%s: %d', name, stock) FROM products

SELECT upper(name), lower(name), trim(name), ltrim(name), rtrim(name), length(name) FROM customers

SELECT replace(name, ' ', '-') AS slug, instr(name, 'a'), substr(name, 1, 1) FROM products

SELECT hex(name), quote(name), unicode(name), char(65, 66) FROM customers

SELECT typeof(total), typeof(name) FROM orders JOIN customers ON customers.id = customer_id

SELECT abs(-1), round(2.567, 1), max(1, 2), min(1, 2), random() IS NOT NULL

SELECT total(total), sum(total), avg(total) FROM orders

SELECT coalesce(NULL, 5), nullif(1, 1), 7 / 2, 7 % 2, 2 << 3, 5 & 3, 5 | 2, ~0

SELECT SUM(status = 'paid') AS paid, SUM(status = 'open') AS waiting FROM orders

SELECT COUNT(*) FILTER (WHERE status = 'paid') AS paid FROM orders

SELECT name FROM customers WHERE name GLOB 'A*'

SELECT name FROM customers WHERE name LIKE 'a\_%' ESCAPE '\' OR name LIKE 'a%'

SELECT name FROM customers WHERE name = 'ada' COLLATE NOCASE

SELECT name FROM customers ORDER BY name COLLATE NOCASE

SELECT json_extract(payload, '$.page') AS page, COUNT(*) FROM events GROUP BY page

SELECT payload ->> '$.page' AS page FROM events

SELECT payload -> 'user' FROM events WHERE json_valid(payload)

SELECT j.value AS tag, COUNT(*) FROM events e, json_each(e.payload, '$.tags') j GROUP BY j.value

SELECT e.id, t.key, t.type FROM events e, json_tree(e.payload) t WHERE t.atom IS NOT NULL

SELECT json_group_array(name) FROM customers

SELECT json_object('id', id, 'name', name) FROM customers

SELECT json_group_object(sku, stock) FROM products

SELECT json_array_length(payload, '$.tags') FROM events

WITH RECURSIVE days (d) AS (SELECT date('2026-11-01') UNION ALL SELECT date(d, '+1 day') FROM days WHERE d < '2026-11-15') SELECT d, COUNT(o.id) FROM days LEFT JOIN orders o ON date(o.created_at) = d GROUP BY d

WITH RECURSIVE tree (id, name, path) AS (SELECT id, name, name FROM employees WHERE manager_id IS NULL UNION ALL SELECT e.id, e.name, tree.path || ' > ' || e.name FROM employees e JOIN tree ON e.manager_id = tree.id) SELECT path FROM tree

SELECT id, SUM(total) OVER w AS running FROM orders WINDOW w AS (ORDER BY id ROWS UNBOUNDED PRECEDING)

SELECT name, percent_rank() OVER (ORDER BY salary), cume_dist() OVER (ORDER BY salary) FROM employees

SELECT department, nth_value(name, 2) OVER (PARTITION BY department ORDER BY salary DESC) FROM employees

SELECT id, total, group_concat(id) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) FROM orders

SELECT taken_at, value, avg(value) OVER (ORDER BY taken_at RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) FROM samples

SELECT * FROM orders LIMIT 5, 10

SELECT * FROM orders LIMIT -1 OFFSET 0

SELECT rowid, name FROM customers

SELECT "name", "country" FROM "customers"

SELECT [name], `country` FROM [customers]

SELECT c.name FROM customers AS c NATURAL JOIN (SELECT 1 AS id) x

SELECT o.id FROM orders o JOIN customers c USING (id)

SELECT o.id, c.name FROM orders o LEFT OUTER JOIN customers c ON c.id = o.customer_id

SELECT * FROM orders ORDER BY total DESC NULLS LAST

SELECT * FROM orders INDEXED BY orders_by_status WHERE status = 'open'

SELECT * FROM orders NOT INDEXED

VALUES (1, 'one'), (2, 'two')

SELECT * FROM (VALUES (1), (2))

SELECT column1 FROM (VALUES (1), (2))

SELECT CAST(total AS INTEGER), CAST(id AS TEXT), CAST('1.5' AS REAL) FROM orders

SELECT id IS 1, id IS NOT 1, total ISNULL, total NOTNULL FROM orders

SELECT EXISTS (SELECT 1 FROM orders WHERE status = 'open') AS has_open

SELECT (SELECT COUNT(*) FROM orders) AS orders, (SELECT COUNT(*) FROM customers) AS customers

SELECT x'41', 1e3, .5, 0x10, TRUE, FALSE, NULL

SELECT likely(id > 0), unlikely(id < 0), likelihood(id > 0, 0.9) FROM orders

SELECT changes(), total_changes(), last_insert_rowid()

SELECT sqrt(16), pow(2, 8), ceil(1.2), floor(1.8), ln(10), log10(100), mod(7, 3), pi()

SELECT zeroblob(4), length(randomblob(8)), lower(hex(randomblob(16))) AS id

SELECT glob('a*', 'abc'), like('a%', 'abc'), soundex_like FROM (SELECT 1 AS soundex_like)

SELECT sum(stock * price) AS "Value of the stock" FROM products

SELECT plan, round(100.0 * count(*) / sum(count(*)) OVER (), 1) AS percent FROM customers GROUP BY plan

SELECT host, max(value), taken_at FROM samples GROUP BY host
