SELECT VERSION()

SELECT NOW()

SELECT DATABASE(), USER(), CURRENT_USER(), CONNECTION_ID()

SELECT @@version, @@hostname, @@port

SELECT @@global.max_connections AS most

SHOW STATUS

SHOW GLOBAL STATUS

SHOW GLOBAL STATUS LIKE 'Threads_connected'

SHOW GLOBAL STATUS WHERE Variable_name IN ('Questions', 'Slow_queries', 'Uptime')

SHOW VARIABLES LIKE 'max_connections'

SHOW GLOBAL VARIABLES LIKE 'innodb_buffer_pool_size'

SHOW PROCESSLIST

SHOW FULL PROCESSLIST

SHOW DATABASES

SHOW TABLES

SHOW FULL TABLES

SHOW TABLE STATUS

SHOW TABLE STATUS LIKE 'orders'

SHOW COLUMNS FROM orders

SHOW FULL COLUMNS FROM customers

SHOW INDEX FROM orders

SHOW CREATE TABLE orders

SHOW ENGINES

SHOW ENGINE INNODB STATUS

SHOW PLUGINS

SHOW COLLATION LIKE 'utf8mb4%'

SHOW CHARACTER SET

DESCRIBE orders

DESC customers

EXPLAIN SELECT * FROM orders WHERE status = 'open'

EXPLAIN FORMAT=JSON SELECT * FROM orders

SELECT variable_name, variable_value FROM information_schema.global_status WHERE variable_name LIKE 'Innodb_rows%'

SELECT variable_value / 3600 AS hours_up FROM information_schema.global_status WHERE variable_name = 'UPTIME'

SELECT command, COUNT(*) AS sessions FROM information_schema.processlist GROUP BY command

SELECT id, user, time, state, LEFT(info, 60) AS query FROM information_schema.processlist WHERE command <> 'Sleep' ORDER BY time DESC

SELECT MAX(time) AS longest_s FROM information_schema.processlist WHERE command = 'Query'

SELECT table_schema, ROUND(SUM(data_length + index_length) / 1024 / 1024, 1) AS mb FROM information_schema.tables GROUP BY table_schema

SELECT table_name, table_rows, ROUND(data_length / 1024) AS kb FROM information_schema.tables WHERE table_schema = DATABASE() ORDER BY data_length DESC

SELECT table_name, engine, data_free FROM information_schema.tables WHERE table_schema = DATABASE() AND data_free > 0 OR engine IS NULL

SELECT column_name, column_type, is_nullable, column_key FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'orders'

SELECT index_name, GROUP_CONCAT(column_name ORDER BY seq_in_index) FROM information_schema.statistics WHERE table_schema = DATABASE() GROUP BY table_name, index_name

SELECT constraint_name, table_name FROM information_schema.table_constraints WHERE constraint_schema = DATABASE()

SELECT trx_id, trx_state, trx_started FROM information_schema.innodb_trx

SELECT schema_name, default_character_set_name FROM information_schema.schemata

SELECT DATE(created_at) AS day, COUNT(*) AS orders FROM orders GROUP BY DATE(created_at) ORDER BY day

SELECT DATE_FORMAT(created_at, '%Y-%m') AS month, SUM(total) AS revenue FROM orders GROUP BY month ORDER BY month

SELECT DATE_FORMAT(created_at, '%Y-%m-%d %H:00:00') AS hour, COUNT(*) FROM orders GROUP BY 1

SELECT UNIX_TIMESTAMP(taken_at) AS time_sec, value, host AS metric FROM samples WHERE metric = 'cpu' ORDER BY taken_at

SELECT UNIX_TIMESTAMP(taken_at) DIV 300 * 300 AS time_sec, AVG(value) AS value FROM samples GROUP BY 1 ORDER BY 1

SELECT FROM_UNIXTIME(FLOOR(UNIX_TIMESTAMP(taken_at) / 60) * 60) AS time, MAX(value) FROM samples GROUP BY 1

SELECT COUNT(*) FROM orders WHERE created_at >= NOW() - INTERVAL 1 DAY

SELECT COUNT(*) FROM orders WHERE created_at >= DATE_SUB(CURDATE(), INTERVAL 7 DAY)

SELECT COUNT(*) FROM orders WHERE DATE(created_at) = CURDATE()

SELECT COUNT(*) FROM orders WHERE YEAR(created_at) = 2026 AND MONTH(created_at) = 11

SELECT COUNT(*) FROM orders WHERE created_at BETWEEN FROM_UNIXTIME(1700000000) AND FROM_UNIXTIME(1900000000)

SELECT DAYNAME(created_at) AS weekday, COUNT(*) FROM orders GROUP BY DAYOFWEEK(created_at), 1 ORDER BY DAYOFWEEK(created_at)

SELECT HOUR(created_at) AS hour, COUNT(*) FROM orders GROUP BY hour

SELECT WEEK(created_at, 3) AS week, COUNT(*) FROM orders GROUP BY week

SELECT YEARWEEK(created_at) AS week, SUM(total) FROM orders GROUP BY week WITH ROLLUP

SELECT QUARTER(created_at) AS quarter, SUM(total) FROM orders GROUP BY quarter

SELECT TIMESTAMPDIFF(MINUTE, MAX(created_at), NOW()) AS minutes_since_last FROM orders

SELECT id, TIMEDIFF(shipped_at, created_at) AS took FROM orders WHERE shipped_at IS NOT NULL

SELECT AVG(TIMESTAMPDIFF(HOUR, created_at, shipped_at)) AS hours_to_ship FROM orders

SELECT DATEDIFF(NOW(), created_at) AS days_ago FROM customers

SELECT LAST_DAY(CURDATE()), CURDATE() - INTERVAL DAY(CURDATE()) - 1 DAY

SELECT CONVERT_TZ(created_at, '+00:00', '+01:00') AS local_time FROM orders

SELECT STR_TO_DATE('15.11.2026', '%d.%m.%Y') AS day

SELECT EXTRACT(YEAR_MONTH FROM created_at) AS ym, COUNT(*) FROM orders GROUP BY ym

SELECT SUM(status = 'paid') AS paid, SUM(status = 'open') AS waiting FROM orders

SELECT SUM(IF(status = 'paid', total, 0)) AS paid FROM orders

SELECT IFNULL(email, 'none') AS email, IF(plan = 'pro', 1, 0) AS is_pro FROM customers

SELECT GROUP_CONCAT(name SEPARATOR ', ') AS names FROM customers

SELECT country, GROUP_CONCAT(DISTINCT city ORDER BY city DESC SEPARATOR '; ') FROM customers GROUP BY country

SELECT CONCAT(name, ' (', country, ')') AS label FROM customers

SELECT CONCAT_WS(', ', name, city, country) AS address FROM customers

SELECT SUBSTRING_INDEX(email, '@', -1) AS domain, COUNT(*) FROM customers GROUP BY domain

SELECT LEFT(name, 1) AS letter, COUNT(*) FROM customers GROUP BY letter

SELECT LPAD(id, 8, '0') AS number FROM orders

SELECT name, REPEAT('#', stock DIV 10) AS bar FROM products

SELECT REPLACE(name, ' ', '-') AS slug, LOCATE('a', name), INSTR(name, 'o') FROM products

SELECT FORMAT(SUM(total), 2) AS total FROM orders

SELECT MD5(email) AS anonymous, SHA2(email, 256) FROM customers

SELECT name FROM customers WHERE email REGEXP '@example\\.(com|org)$'

SELECT name FROM customers WHERE name RLIKE '^A'

SELECT name FROM customers WHERE FIND_IN_SET(country, 'AT,DE,CH') > 0

SELECT JSON_UNQUOTE(JSON_EXTRACT(payload, '$.page')) AS page, COUNT(*) FROM events GROUP BY page

SELECT JSON_VALUE(payload, '$.page') AS page FROM events WHERE JSON_CONTAINS_PATH(payload, 'one', '$.user')

SELECT id FROM events WHERE JSON_EXTRACT(payload, '$.page') = '/cart'

SELECT JSON_ARRAYAGG(name) FROM customers

SELECT JSON_OBJECT('id', id, 'name', name) FROM customers

SELECT t.tag, COUNT(*) FROM events e, JSON_TABLE(e.payload, '$.tags[*]' COLUMNS (tag VARCHAR(50) PATH '$')) AS t GROUP BY t.tag

SELECT `id`, `name` FROM `customers` WHERE `country` = 'AT'

SELECT `c`.`name`, COUNT(`o`.`id`) AS `orders` FROM `customers` AS `c` LEFT JOIN `orders` AS `o` ON `o`.`customer_id` = `c`.`id` GROUP BY `c`.`name`

SELECT SQL_NO_CACHE COUNT(*) FROM orders

SELECT * FROM orders USE INDEX (PRIMARY) LIMIT 0, 10

SELECT * FROM orders LIMIT 5, 10

SELECT STDDEV(total), STDDEV_POP(total), VARIANCE(total), BIT_OR(id) FROM orders

SELECT ROUND(AVG(total), 2), CEIL(MAX(total)), FLOOR(MIN(total)), TRUNCATE_TOTAL FROM orders, (SELECT 1 AS TRUNCATE_TOTAL) t GROUP BY TRUNCATE_TOTAL

SELECT 7 DIV 2, 7 MOD 2, 7 % 2, 2 << 3, 5 & 3, 5 | 2, POW(2, 8), SQRT(16)

SELECT GREATEST(1, 2), LEAST(1, 2), COALESCE(NULL, 5), 1 <=> NULL, NOT 1, 1 XOR 1

SELECT CAST('12' AS UNSIGNED), CAST(total AS CHAR), CONVERT(total, SIGNED) FROM orders

SELECT name COLLATE utf8mb4_general_ci AS name FROM customers ORDER BY name

SELECT department, name, PERCENT_RANK() OVER (PARTITION BY department ORDER BY salary) FROM employees

SELECT DISTINCT MEDIAN(salary) OVER (PARTITION BY department) AS usual, department FROM employees

WITH RECURSIVE days AS (SELECT DATE('2026-11-01') AS d UNION ALL SELECT d + INTERVAL 1 DAY FROM days WHERE d < '2026-11-15') SELECT d, COUNT(o.id) FROM days LEFT JOIN orders o ON DATE(o.created_at) = d GROUP BY d

SELECT seq AS hour, COUNT(o.id) FROM seq_0_to_23 LEFT JOIN orders o ON HOUR(o.created_at) = seq GROUP BY seq

SELECT INET_NTOA(INET_ATON('10.0.0.1')), HEX('a'), UNHEX('61'), TO_BASE64('a'), UUID() IS NOT NULL

SELECT 'it\'s fine' AS note, "double" AS quoted, 0x41 AS hex

SELECT COUNT(*) AS n # how many
FROM orders
