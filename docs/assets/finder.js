// Runs find_gradients.py by Brython, which is Python in JavaScript, on what the page sends.

importScripts("brython.js", "brython-modules.js");

const glue = `
import json
from browser import self

def found(*given):
    return json.dumps(find(given[0], "pasted code"))

self.found = found
`;
const started = fetch("../start/find_gradients.py")
  .then((response) => response.text())
  .then((source) => __BRYTHON__.runPythonSource(`${source}\n${glue}`, "find_gradients"));

self.onmessage = async ({ data }) => {
  try {
    await started;
    self.postMessage({ found: self.found(data) });
  } catch (error) {
    self.postMessage({ error: [error, ...(error.args ?? [])].join(" ") });
  }
};
