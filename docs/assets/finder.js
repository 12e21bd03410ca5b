// Runs find_gradients.py by Brython, which is Python in JavaScript, on what the page sends.

importScripts("brython.js", "brython-modules.js");

// The page makes addresses itself: it may be read elsewhere than where it was published.
// Brython gives the nodes without a place of their own a line, but no column.
const glue = `
BASE = ""
from browser import self
for kind in ast.arguments, ast.withitem, ast.comprehension, ast.match_case:
    kind.col_offset = 0

def found(text):
    whole = text.lstrip().startswith("{") and '"cell_type"' in text
    return json.dumps(find(text, "code.ipynb" if whole else "code.py"))

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
    self.postMessage({ error: error.args?.join(" ") ?? String(error) });
  }
};
