// The entry of every npm script: checks Node, then runs the task of that name.
// Written so that an old Node can read it far enough to say that it is too old.
var wanted = [20, 19];
var have = process.versions.node.split(".").map(Number);
var name = process.argv[2];

if (have[0] < wanted[0] || (have[0] === wanted[0] && have[1] < wanted[1])) {
  console.error("error: Node " + process.versions.node + " is too old");
  console.error("  reason: FirstFault is built with Node " + wanted.join(".") + " or newer (an even-numbered release)");
  console.error("  where: " + process.execPath);
  console.error("  help: install a newer Node, for example with your system's packages or a version manager, and run npm run " + name + " again");
  process.exit(2);
}

import("./tasks/" + name + ".mjs")
  .then(function (task) {
    return task.default(process.argv.slice(3));
  })
  .then(function (status) {
    process.exitCode = status || 0;
  })
  .catch(function (error) {
    // What a person can put right is said without a stack; anything else is a mistake in the task and needs one.
    console.error(error.constructor.name === "TaskError" ? "error: " + error.message : error);
    process.exitCode = 1;
  });
