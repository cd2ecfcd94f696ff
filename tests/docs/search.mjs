// Asks the search of the built site, as a browser does: its own worker, over its own index.
// node search.mjs SITE, with one query a line on the standard input; prints the locations as JSON.
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import vm from "node:vm";

const site = process.argv[2];
const folder = join(site, "assets", "javascripts", "workers");
const [worker] = readdirSync(folder).filter((name) => /^search\..*\.js$/.test(name));
const answers = [];
const self = { postMessage: (message) => answers.push(message) };
const context = vm.createContext({ self, Intl, console });
vm.runInContext(readFileSync(join(folder, worker), "utf8"), context);

const index = JSON.parse(readFileSync(join(site, "search.json"), "utf8"));
const ask = async (message) => {
  const before = answers.length;
  self.onmessage({ data: message });
  for (let i = 0; i < 1000 && answers.length === before; i++) await new Promise((r) => setTimeout(r, 5));
  return answers.at(-1);
};
await ask({ type: 0, data: index });
const queries = readFileSync(0, "utf8").split("\n").filter(Boolean);
const found = {};
for (const query of queries) {
  const answer = await ask({ type: 2, data: { input: query, filter: { input: [], aggregation: { input: [] } } } });
  found[query] = (answer.data?.items ?? []).map((item) => index.items[item.id].location);
}
console.log(JSON.stringify(found));
