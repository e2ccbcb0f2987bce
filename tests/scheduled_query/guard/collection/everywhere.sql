SELECT 1

SELECT COUNT(*) FROM orders

SELECT COUNT(*) AS value FROM orders WHERE status = 'paid'

SELECT SUM(total) AS revenue FROM orders WHERE status IN ('paid', 'shipped')

SELECT AVG(total) AS average_order FROM orders

SELECT MIN(created_at) AS first_order, MAX(created_at) AS last_order FROM orders

SELECT status, COUNT(*) AS n FROM orders GROUP BY status ORDER BY n DESC

SELECT status AS metric, COUNT(*) AS value FROM orders GROUP BY status

SELECT * FROM customers

SELECT * FROM customers LIMIT 100

SELECT * FROM customers ORDER BY id DESC LIMIT 10 OFFSET 0

SELECT id, name, email FROM customers WHERE country = 'AT' ORDER BY name

SELECT id, name FROM customers WHERE email IS NULL

SELECT id, name FROM customers WHERE email IS NOT NULL AND deleted_at IS NULL

SELECT DISTINCT country FROM customers ORDER BY country

SELECT COUNT(DISTINCT customer_id) AS buyers FROM orders

SELECT country, COUNT(*) AS customers FROM customers GROUP BY country HAVING COUNT(*) > 1

SELECT c.name, o.total FROM customers c JOIN orders o ON o.customer_id = c.id

SELECT c.name, COUNT(o.id) AS orders FROM customers c LEFT JOIN orders o ON o.customer_id = c.id GROUP BY c.name

SELECT c.id, c.name FROM customers c LEFT JOIN orders o ON o.customer_id = c.id WHERE o.id IS NULL

SELECT c.name, SUM(o.total) AS spent FROM customers c INNER JOIN orders o ON o.customer_id = c.id WHERE o.status <> 'cancelled' GROUP BY c.id, c.name ORDER BY spent DESC LIMIT 5

SELECT p.category, SUM(i.quantity * i.unit_price) AS revenue FROM order_items i JOIN products p ON p.id = i.product_id GROUP BY p.category ORDER BY revenue DESC

SELECT p.name, p.stock FROM products p WHERE p.stock < 10 ORDER BY p.stock

SELECT name, price, CASE WHEN price < 10 THEN 'cheap' WHEN price < 100 THEN 'usual' ELSE 'dear' END AS class FROM products

SELECT SUM(CASE WHEN status = 'paid' THEN 1 ELSE 0 END) AS paid, SUM(CASE WHEN status = 'open' THEN 1 ELSE 0 END) AS open_orders FROM orders

SELECT SUM(CASE WHEN status = 'cancelled' THEN 1 ELSE 0 END) * 100.0 / COUNT(*) AS cancelled_percent FROM orders

SELECT COALESCE(SUM(total), 0) AS total FROM orders WHERE status = 'refunded'

SELECT COALESCE(email, 'none') AS email FROM customers

SELECT NULLIF(currency, 'EUR') AS foreign_currency, COUNT(*) FROM orders GROUP BY NULLIF(currency, 'EUR')

SELECT id, total FROM orders WHERE total BETWEEN 10 AND 100

SELECT id FROM orders WHERE created_at >= '2026-11-01' AND created_at < '2026-12-01'

SELECT id FROM orders WHERE shipped_at IS NULL AND status = 'paid'

SELECT id, name FROM customers WHERE name LIKE 'A%'

SELECT id, name FROM customers WHERE name NOT LIKE '%test%'

SELECT id, name FROM customers WHERE country IN ('AT', 'DE', 'CH')

SELECT id, name FROM customers WHERE country NOT IN ('US', 'CA')

SELECT id FROM orders WHERE customer_id IN (SELECT id FROM customers WHERE plan = 'pro')

SELECT id, name FROM customers c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.id AND o.total > 50)

SELECT id, name FROM customers c WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.id)

SELECT id, total FROM orders WHERE total > (SELECT AVG(total) FROM orders)

SELECT name, (SELECT COUNT(*) FROM orders o WHERE o.customer_id = c.id) AS orders FROM customers c

SELECT q.status, q.n FROM (SELECT status, COUNT(*) AS n FROM orders GROUP BY status) AS q WHERE q.n > 0

SELECT AVG(per_customer.n) AS orders_per_customer FROM (SELECT customer_id, COUNT(*) AS n FROM orders GROUP BY customer_id) per_customer

SELECT 'orders' AS what, COUNT(*) AS n FROM orders UNION ALL SELECT 'customers', COUNT(*) FROM customers

SELECT country FROM customers UNION SELECT 'XX' ORDER BY 1

SELECT city FROM customers INTERSECT SELECT city FROM customers WHERE plan = 'pro'

SELECT id FROM customers EXCEPT SELECT customer_id FROM orders

WITH paid AS (SELECT * FROM orders WHERE status = 'paid') SELECT COUNT(*) AS n, SUM(total) AS total FROM paid

WITH per_day AS (SELECT customer_id, COUNT(*) AS n FROM orders GROUP BY customer_id), top_buyers AS (SELECT customer_id FROM per_day WHERE n > 1) SELECT c.name FROM customers c JOIN top_buyers t ON t.customer_id = c.id

WITH RECURSIVE chain AS (SELECT id, name, manager_id, 0 AS depth FROM employees WHERE manager_id IS NULL UNION ALL SELECT e.id, e.name, e.manager_id, chain.depth + 1 FROM employees e JOIN chain ON chain.id = e.manager_id) SELECT name, depth FROM chain ORDER BY depth, name

WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 31) SELECT i FROM n

SELECT name, salary, RANK() OVER (ORDER BY salary DESC) AS place FROM employees

SELECT name, department, salary, AVG(salary) OVER (PARTITION BY department) AS usual FROM employees

SELECT id, total, SUM(total) OVER (ORDER BY created_at, id) AS running_total FROM orders

SELECT id, total, LAG(total) OVER (ORDER BY id) AS before_it, LEAD(total) OVER (ORDER BY id) AS after_it FROM orders

SELECT * FROM (SELECT o.*, ROW_NUMBER() OVER (PARTITION BY customer_id ORDER BY created_at DESC) AS rn FROM orders o) newest WHERE rn = 1

SELECT host, taken_at, value, AVG(value) OVER (PARTITION BY host ORDER BY taken_at ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS smooth FROM samples

SELECT department, name, DENSE_RANK() OVER (PARTITION BY department ORDER BY salary DESC) AS place FROM employees

SELECT NTILE(4) OVER (ORDER BY total) AS quarter_of_orders, total FROM orders

SELECT name, FIRST_VALUE(name) OVER (PARTITION BY department ORDER BY salary DESC) AS best_paid FROM employees

SELECT id, total / SUM(total) OVER () AS share FROM orders

SELECT COUNT(*) - COUNT(shipped_at) AS not_shipped FROM orders

SELECT UPPER(country) AS country, LOWER(email) AS email FROM customers

SELECT LENGTH(name) AS letters, name FROM customers ORDER BY letters DESC

SELECT TRIM(name) AS name, REPLACE(email, '@', ' at ') AS email FROM customers

SELECT SUBSTR(email, 1, 3) AS beginning FROM customers

SELECT ROUND(total, 1) AS rounded, ABS(total - 50) AS distance FROM orders

SELECT CAST(total AS DECIMAL(12, 2)) AS total FROM orders

SELECT quantity * unit_price AS line_total FROM order_items WHERE quantity > 0 ORDER BY line_total DESC

SELECT o.id, c.name, p.name AS product, i.quantity FROM orders o JOIN customers c ON c.id = o.customer_id JOIN order_items i ON i.order_id = o.id JOIN products p ON p.id = i.product_id ORDER BY o.id

SELECT e.name, m.name AS manager FROM employees e LEFT JOIN employees m ON m.id = e.manager_id

SELECT a.id, b.id FROM customers a CROSS JOIN customers b WHERE a.id < b.id

SELECT id FROM customers WHERE (country = 'AT' OR country = 'DE') AND NOT (plan = 'free')

SELECT host, MAX(value) AS peak FROM samples WHERE metric = 'cpu' GROUP BY host

SELECT host, metric, COUNT(*) AS n, MIN(value) AS lowest, AVG(value) AS mean, MAX(value) AS highest FROM samples GROUP BY host, metric ORDER BY host, metric

SELECT taken_at AS time, value FROM samples WHERE metric = 'cpu' AND host = 'web-1' ORDER BY taken_at

SELECT taken_at AS "time", host AS metric, value FROM samples WHERE taken_at BETWEEN '2026-11-01 00:00:00' AND '2026-11-30 23:59:59' ORDER BY 1

SELECT kind, COUNT(*) AS n FROM events GROUP BY kind ORDER BY n DESC LIMIT 20

SELECT COUNT(*) AS errors FROM events WHERE kind = 'error' AND taken_at > '2026-11-14'

SELECT user_id, MAX(taken_at) AS last_seen FROM events GROUP BY user_id

SELECT -- how many are waiting
  COUNT(*) AS waiting
FROM orders /* only the open ones */
WHERE status = 'open';

SELECT
    c.country AS "Country",
    COUNT(DISTINCT c.id) AS "Customers",
    COUNT(o.id) AS "Orders",
    COALESCE(SUM(o.total), 0) AS "Revenue"
FROM customers c
LEFT JOIN orders o
       ON o.customer_id = c.id
      AND o.status <> 'cancelled'
GROUP BY c.country
ORDER BY 4 DESC

SELECT 'drop_off' AS step, COUNT(*) AS n FROM events WHERE kind = 'cart'

SELECT deleted_at, updated_at FROM customers WHERE deleted_at IS NOT NULL

SELECT COUNT(*) AS n FROM orders WHERE total <> 0 AND total > -1 AND NOT total = 7

SELECT 100 AS target, COUNT(*) AS actual FROM orders

SELECT plan, COUNT(*) * 1.0 / (SELECT COUNT(*) FROM customers) AS share FROM customers GROUP BY plan

SELECT currency, SUM(total) AS total FROM orders GROUP BY currency HAVING SUM(total) > 0 ORDER BY total DESC

SELECT MAX(n) AS busiest FROM (SELECT COUNT(*) AS n FROM orders GROUP BY customer_id) x

SELECT o.* FROM orders o WHERE o.id = (SELECT MAX(id) FROM orders)

SELECT COUNT(*) FROM orders o, customers c WHERE o.customer_id = c.id AND c.plan = 'pro'

SELECT category, AVG(price) AS mean, COUNT(*) AS n FROM products WHERE price > 0 GROUP BY category

SELECT name FROM products WHERE id NOT IN (SELECT product_id FROM order_items WHERE product_id IS NOT NULL)

SELECT 1 AS ok WHERE 1 = 1

SELECT CASE WHEN COUNT(*) > 0 THEN 1 ELSE 0 END AS alarm FROM orders WHERE status = 'open'

SELECT CASE status WHEN 'paid' THEN 'done' WHEN 'open' THEN 'waiting' ELSE status END AS state, COUNT(*) FROM orders GROUP BY status

SELECT name AS "Name of the customer", city AS "City" FROM customers ORDER BY "City", "Name of the customer"

SELECT t.a, t.b FROM (SELECT 1 AS a, 2 AS b UNION ALL SELECT 3, 4) t WHERE t.a + t.b > 2

SELECT SUM(total) FILTER_TOTAL FROM orders

SELECT COUNT(*) AS n, 'it''s fine; really' AS note FROM orders

SELECT id, name FROM customers WHERE name = 'Zoë' OR name = '東京'

SELECT MIN(price), MAX(price), MAX(price) - MIN(price) AS spread FROM products

SELECT department, SUM(salary) AS cost FROM employees GROUP BY department ORDER BY cost DESC LIMIT 3

SELECT host, value FROM samples s WHERE taken_at = (SELECT MAX(taken_at) FROM samples WHERE host = s.host AND metric = s.metric)

SELECT v.host, v.value FROM samples v JOIN (SELECT host, MAX(taken_at) AS newest FROM samples GROUP BY host) n ON n.host = v.host AND n.newest = v.taken_at

SELECT COUNT(*) FROM (SELECT customer_id FROM orders GROUP BY customer_id HAVING COUNT(*) >= 2) returning_customers
