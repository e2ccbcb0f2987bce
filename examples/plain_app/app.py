"""An application of its own that hosts plugins: `uvicorn app:app`, or `python app.py`.

Its one folder plugin, `plugins/notes`, keeps a list of notes in the store; no SQL query service is needed.
"""

from pathlib import Path

from fastapi import FastAPI
from plugbay import Plugbay

app = FastAPI(title="Plain application")


@app.get("/")
def index() -> dict[str, str]:
    """The application's own page: Plugbay leaves it as it is."""
    return {"message": "This page belongs to the application. The plugin's page is at /notes/."}


bay = Plugbay(app, app_root_dir=Path(__file__).parent)

if __name__ == "__main__":
    import uvicorn

    uvicorn.run(app, port=8001)
