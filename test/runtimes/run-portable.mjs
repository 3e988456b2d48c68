// Runs the portable tests in Node, Bun or Deno. Arguments: the address of the bundle, and the settings as JSON. Prints the outcome.

const [bundle, settings] = process.argv.slice(2)
const { runPortable } = await import(bundle)
const outcome = await runPortable(JSON.parse(settings))
console.log(JSON.stringify(outcome))
// No timer of a store is left that would keep the process alive: the program ends here by itself.
