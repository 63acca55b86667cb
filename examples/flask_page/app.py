"""A small Flask app with the toolbar in its page: `flask run --debug`, in this folder."""

from flask import Flask, render_template

import pinbox.inject

app = Flask(__name__)
pinbox.inject.add_to_flask(app)


@app.get("/")
def notes() -> str:
    return render_template("notes.html", notes=["Water the plants", "Call the plumber"])
