// One of Inspector's programs, ready to run: node inspector_ready.mjs FILE FUNCTION
//
// Loaded once, it is called for each line of words on stdin, by the function that its own file calls; what
// it writes and how it ends is a line on stdout. To load it is most of the time of a command.

import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [file, name] = process.argv.slice(2);
const program = await import(pathToFileURL(file).href);
const say = process.stdout.write.bind(process.stdout);

function caught(stream) {
  const parts = [];
  process[stream].write = (text, ...more) => {
    parts.push(String(text));
    more.at(-1)?.();
    return true;
  };
  return parts;
}

for await (const line of createInterface({ input: process.stdin })) {
  const [stdout, stderr] = [caught("stdout"), caught("stderr")];
  let code = 0;
  try {
    await program[name]([process.execPath, file, ...JSON.parse(line)]);
  } catch (error) {
    code = error?.exitCode ?? 1;
    stderr.push(String(error?.stack ?? error));
  }
  say(JSON.stringify({ code, stdout: stdout.join(""), stderr: stderr.join("") }) + "\n");
}
process.exit(0); // whatever connections it has kept
