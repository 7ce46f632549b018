// Everything the built-in page does, it does by the same API: GET /openapi.json says what there is.
const list = document.getElementById("agents");
const facts = document.getElementById("facts");
const problem = document.getElementById("problem");

async function ask(method, path, body) {
  const headers = body ? { "content-type": "application/json" } : {};
  const response = await fetch(path, { method, headers, body: body && JSON.stringify(body) });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error.message);
  return answer;
}

async function showAgents() {
  const { agents } = await ask("GET", "/agents");
  list.replaceChildren(
    ...agents.map(({ id, name, status }) => {
      const item = document.createElement("li");
      const button = document.createElement("button");
      button.textContent = `${name}: ${status}`;
      button.onclick = () => follow(id);
      item.append(button);
      return item;
    }),
  );
}

let socket;

/** All facts of an agent from its first on, then live, without gap or double. */
function follow(id) {
  socket?.close();
  facts.replaceChildren();
  socket = new WebSocket(`${location.origin.replace("http", "ws")}/agents/${id}/events?after=0`);
  socket.onmessage = ({ data }) => {
    const fact = JSON.parse(data);
    if (fact.seq === undefined) return; // words as they are streamed
    const item = document.createElement("li");
    item.textContent = fact.type;
    facts.append(item);
    if (/^agent\./.test(fact.type)) showAgents().catch(tell);
  };
}

function tell(error) {
  problem.textContent = error.message;
}

document.getElementById("new").onsubmit = async (event) => {
  event.preventDefault();
  problem.textContent = "";
  try {
    const { id } = await ask("POST", "/agents", { goal: new FormData(event.target).get("goal") });
    await showAgents();
    follow(id);
  } catch (error) {
    tell(error);
  }
};

showAgents().catch(tell);
