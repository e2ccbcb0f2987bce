SELECT version()

SELECT now()

SELECT current_database(), current_user, current_schema()

SELECT count(*) FROM pg_stat_activity

SELECT state, count(*) FROM pg_stat_activity WHERE datname = current_database() GROUP BY state

SELECT pid, usename, application_name, client_addr, state, query_start, now() - query_start AS duration FROM pg_stat_activity WHERE state <> 'idle' ORDER BY duration DESC

SELECT pid, wait_event_type, wait_event, left(query, 60) AS query FROM pg_stat_activity WHERE wait_event IS NOT NULL

SELECT max(extract(epoch FROM now() - xact_start)) AS oldest_transaction_s FROM pg_stat_activity WHERE xact_start IS NOT NULL

SELECT datname, pg_database_size(datname) AS bytes FROM pg_database WHERE NOT datistemplate ORDER BY 2 DESC

SELECT pg_size_pretty(pg_database_size(current_database()))

SELECT relname, n_live_tup, n_dead_tup, last_autovacuum FROM pg_stat_user_tables ORDER BY n_dead_tup DESC

SELECT schemaname, relname, seq_scan, idx_scan FROM pg_stat_user_tables WHERE seq_scan > idx_scan

SELECT relname, pg_size_pretty(pg_total_relation_size(relid)) AS size FROM pg_catalog.pg_statio_user_tables ORDER BY pg_total_relation_size(relid) DESC

SELECT indexrelname, idx_scan FROM pg_stat_user_indexes WHERE idx_scan = 0

SELECT sum(heap_blks_hit) / nullif(sum(heap_blks_hit) + sum(heap_blks_read), 0) AS hit_ratio FROM pg_statio_user_tables

SELECT xact_commit, xact_rollback, deadlocks, temp_bytes FROM pg_stat_database WHERE datname = current_database()

SELECT name, setting, unit FROM pg_settings WHERE name IN ('shared_buffers', 'work_mem', 'max_connections')

SELECT current_setting('max_connections')::int AS most

SELECT locktype, mode, granted, count(*) FROM pg_locks GROUP BY 1, 2, 3

SELECT blocked.pid AS blocked, pg_blocking_pids(blocked.pid) AS by FROM pg_stat_activity blocked WHERE cardinality(pg_blocking_pids(blocked.pid)) > 0

SELECT client_addr, state, pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn) AS lag_bytes FROM pg_stat_replication

SELECT slot_name, active FROM pg_replication_slots

SELECT age(datfrozenxid) AS xid_age, datname FROM pg_database ORDER BY 1 DESC

SELECT buffers_clean, maxwritten_clean FROM pg_stat_bgwriter

SELECT table_schema, table_name, table_type FROM information_schema.tables WHERE table_schema NOT IN ('pg_catalog', 'information_schema')

SELECT column_name, data_type, is_nullable, column_default FROM information_schema.columns WHERE table_name = 'orders' ORDER BY ordinal_position

SELECT conname, contype, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'orders'::regclass

SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 'orders'

SELECT rolname, rolsuper, rolcanlogin FROM pg_roles ORDER BY rolname

SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema'

SELECT extname, extversion FROM pg_extension

SELECT grantee, privilege_type FROM information_schema.role_table_grants WHERE table_name = 'orders'

SELECT n.nspname, c.relname, c.relkind, pg_get_userbyid(c.relowner) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'public'

SELECT viewname, definition FROM pg_views WHERE schemaname = 'public'

SELECT a.attname, format_type(a.atttypid, a.atttypmod) FROM pg_attribute a WHERE a.attrelid = 'customers'::regclass AND a.attnum > 0 AND NOT a.attisdropped

SELECT date_trunc('day', created_at) AS time, count(*) AS orders FROM orders GROUP BY 1 ORDER BY 1

SELECT date_trunc('hour', taken_at) AS time, host AS metric, avg(value) AS value FROM samples WHERE taken_at >= now() - interval '30 days' GROUP BY 1, 2 ORDER BY 1

SELECT extract(epoch FROM taken_at)::bigint AS time, value FROM samples WHERE metric = 'cpu' ORDER BY 1

SELECT to_timestamp(floor(extract(epoch FROM taken_at) / 300) * 300) AS time, avg(value) FROM samples GROUP BY 1

SELECT date_bin('15 minutes', taken_at, timestamp '2026-01-01') AS time, max(value) FROM samples GROUP BY 1

SELECT (extract(epoch FROM taken_at)::bigint / 60) * 60 AS time, sum(value) AS value FROM samples GROUP BY 1 ORDER BY 1

SELECT count(*) FROM orders WHERE created_at >= now() - interval '1 day'

SELECT count(*) FROM orders WHERE created_at::date = current_date

SELECT count(*) FILTER (WHERE status = 'paid') AS paid, count(*) FILTER (WHERE status = 'open') AS waiting FROM orders

SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY total) AS median, percentile_cont(0.95) WITHIN GROUP (ORDER BY total) AS p95 FROM orders

SELECT percentile_disc(ARRAY[0.25, 0.5, 0.75]) WITHIN GROUP (ORDER BY total) FROM orders

SELECT mode() WITHIN GROUP (ORDER BY status) FROM orders

SELECT d::date AS day, count(o.id) AS orders FROM generate_series(date '2026-11-01', date '2026-11-15', interval '1 day') AS d LEFT JOIN orders o ON o.created_at::date = d::date GROUP BY 1 ORDER BY 1

SELECT day, coalesce(n, 0) FROM generate_series(current_date - 6, current_date, '1 day') AS day LEFT JOIN (SELECT created_at::date AS d, count(*) AS n FROM orders GROUP BY 1) o ON o.d = day

SELECT hours.hour, count(o.id) FROM generate_series(0, 23) AS hours(hour) LEFT JOIN orders o ON extract(hour FROM o.created_at) = hours.hour GROUP BY 1 ORDER BY 1

SELECT to_char(created_at, 'YYYY-MM') AS month, sum(total) FROM orders GROUP BY 1 ORDER BY 1

SELECT to_char(created_at, 'Dy') AS weekday, count(*) FROM orders GROUP BY 1, extract(isodow FROM created_at) ORDER BY extract(isodow FROM created_at)

SELECT age(now(), max(created_at)) AS since_last_order FROM orders

SELECT created_at AT TIME ZONE 'UTC' AT TIME ZONE 'Europe/Vienna' AS local_time FROM orders

SELECT id, shipped_at - created_at AS took FROM orders WHERE shipped_at IS NOT NULL

SELECT avg(extract(epoch FROM shipped_at - created_at)) / 3600 AS hours_to_ship FROM orders

SELECT DISTINCT ON (customer_id) customer_id, id, total FROM orders ORDER BY customer_id, created_at DESC

SELECT string_agg(name, ', ' ORDER BY name) AS names FROM customers

SELECT array_agg(DISTINCT country ORDER BY country) FROM customers

SELECT country, json_agg(json_build_object('id', id, 'name', name)) FROM customers GROUP BY country

SELECT payload ->> 'page' AS page, count(*) FROM events GROUP BY 1 ORDER BY 2 DESC

SELECT payload #>> '{user,name}' AS name FROM events WHERE payload ? 'user'

SELECT id FROM events WHERE payload @> '{"page": "/cart"}'

SELECT jsonb_array_elements_text(payload -> 'tags') AS tag, count(*) FROM events GROUP BY 1

SELECT key, count(*) FROM events, jsonb_each_text(payload) GROUP BY key

SELECT e.id, t.tag FROM events e CROSS JOIN LATERAL jsonb_array_elements_text(e.payload -> 'tags') AS t(tag)

SELECT jsonb_path_query(payload, '$.tags[*]') FROM events

SELECT x.id, x.name FROM jsonb_to_recordset('[{"id": 1, "name": "a"}]') AS x(id int, name text)

SELECT c.name, o.total FROM customers c JOIN LATERAL (SELECT total FROM orders WHERE customer_id = c.id ORDER BY created_at DESC LIMIT 1) o ON true

SELECT name FROM customers WHERE name ILIKE 'a%'

SELECT name FROM customers WHERE email ~* '@example\.(com|org)$'

SELECT name FROM customers WHERE country = ANY (ARRAY['AT', 'DE'])

SELECT name FROM customers WHERE country = ANY ('{AT,DE}'::text[])

SELECT unnest(ARRAY[1, 2, 3]) AS n

SELECT regexp_replace(email, '@.*', '') AS local_part, split_part(email, '@', 2) AS domain FROM customers

SELECT split_part(email, '@', 2) AS domain, count(*) FROM customers GROUP BY 1

SELECT concat_ws(', ', name, city, country) AS address FROM customers

SELECT format('%s (%s)', name, country) FROM customers

SELECT lpad(id::text, 8, '0') AS number FROM orders

SELECT name, repeat('▇', (stock / 10)::int) AS bar FROM products

SELECT repeat('  ', 2) || name AS indented FROM employees

SELECT initcap(status), position('a' IN status), overlay(status PLACING 'X' FROM 1 FOR 1) FROM orders

SELECT md5(email) AS anonymous FROM customers

SELECT round(avg(total)::numeric, 2) AS average, stddev(total), variance(total) FROM orders

SELECT width_bucket(total, 0, 100, 5) AS bucket, count(*) FROM orders GROUP BY 1 ORDER BY 1

SELECT corr(quantity, unit_price), regr_slope(quantity, unit_price) FROM order_items

SELECT status, count(*) FROM orders GROUP BY ROLLUP (status)

SELECT status, currency, count(*) FROM orders GROUP BY GROUPING SETS ((status), (currency), ())

SELECT country, plan, grouping(country, plan), count(*) FROM customers GROUP BY CUBE (country, plan)

SELECT id, total, sum(total) OVER w FROM orders WINDOW w AS (PARTITION BY customer_id ORDER BY created_at ROWS UNBOUNDED PRECEDING)

SELECT taken_at, value, avg(value) OVER (PARTITION BY host ORDER BY taken_at RANGE BETWEEN interval '1 hour' PRECEDING AND CURRENT ROW) FROM samples

SELECT name, cume_dist() OVER (ORDER BY salary), percent_rank() OVER (ORDER BY salary) FROM employees

WITH RECURSIVE t AS (SELECT id, name, ARRAY[name::text] AS path FROM employees WHERE manager_id IS NULL UNION ALL SELECT e.id, e.name, t.path || e.name FROM employees e JOIN t ON e.manager_id = t.id) SELECT array_to_string(path, ' > ') FROM t

WITH x AS MATERIALIZED (SELECT * FROM orders) SELECT count(*) FROM x

SELECT * FROM (VALUES (1, 'one'), (2, 'two')) AS t (n, word)

VALUES (1), (2)

TABLE orders

TABLE orders LIMIT 2

SELECT * FROM orders FETCH FIRST 5 ROWS ONLY

SELECT * FROM orders ORDER BY total DESC NULLS LAST

SELECT count(*) FROM orders TABLESAMPLE SYSTEM (100)

SELECT CASE WHEN pg_is_in_recovery() THEN 'replica' ELSE 'primary' END AS role

SELECT coalesce(email, name, 'nobody') FROM customers

SELECT 'now'::timestamptz IS NOT NULL, '1 day'::interval, '{1,2}'::int[], 'x'::varchar(5)

SELECT greatest(1, 2), least(1, 2), mod(7, 3), 7 / 2, 7 % 2, 2 ^ 8, |/ 16, @ -5

SELECT id IS DISTINCT FROM 1, id IS NOT DISTINCT FROM 1 FROM orders

SELECT o.id, o.total::money FROM orders o

SELECT row_to_json(c) FROM customers c

SELECT (x.c).name FROM (SELECT c FROM customers c) AS x

SELECT bool_and(total > 0), bool_or(status = 'open'), every(total > 0) FROM orders

SELECT exists(SELECT 1 FROM orders WHERE status = 'open') AS has_open

SELECT tsrange(created_at, shipped_at) && tsrange('2026-11-01', '2026-12-01') AS in_november FROM orders WHERE shipped_at > created_at

SELECT lower(int4range(1, 5)), upper(int4range(1, 5)), 3 <@ int4range(1, 5)

SELECT to_tsvector('english', name) @@ plainto_tsquery('english', 'keyboard') FROM products

SELECT host(inet '10.0.0.1'), network(inet '10.0.0.1/8'), inet '10.0.0.1' << inet '10.0.0.0/8'

SELECT pg_typeof(total), pg_column_size(total) FROM orders

SHOW server_version

SHOW max_connections

SHOW TIME ZONE

EXPLAIN SELECT * FROM orders WHERE id = 1

EXPLAIN (ANALYZE, BUFFERS) SELECT count(*) FROM orders

EXPLAIN (FORMAT JSON) SELECT * FROM customers JOIN orders ON customers.id = customer_id

SELECT count(*) AS total, count(*) FILTER (WHERE deleted_at IS NOT NULL) AS "deleted" FROM customers

SELECT $$it's a text$$ AS t, E'tab\there' AS e, U&'\00e9t\00e9' AS u WHERE false
  OR true
