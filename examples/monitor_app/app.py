"""A shop with Plugbay and the scheduled-query service mounted beside it: `python app.py`.

The shop keeps its orders in a SQLite file; the service watches that file, and no query can change it.
Log in at /login with the password that the first start prints.
"""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from fastapi import FastAPI
from plugbay import Plugbay

HERE = Path(__file__).parent
ORDERS = Path(os.environ.get("ORDERS_DB", HERE / "orders.db")).absolute()


def prepare_orders() -> None:
    with closing(sqlite3.connect(ORDERS)) as connection, connection:
        connection.execute("CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, total REAL NOT NULL)")


prepare_orders()
os.environ.setdefault("SCHEDULED_QUERY_SOURCES", f'{{"orders": "sqlite:///{ORDERS}"}}')
app = FastAPI(title="Shop")


@app.post("/orders")
def order(total: float) -> dict[str, float]:
    """The shop's own endpoint."""
    with closing(sqlite3.connect(ORDERS)) as connection, connection:
        connection.execute("INSERT INTO orders (total) VALUES (?)", (total,))
    return {"total": total}


bay = Plugbay(app, app_root_dir=HERE)

if __name__ == "__main__":
    import uvicorn

    uvicorn.run(app, port=8002)
