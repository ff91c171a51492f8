// What the programs of this folder share: each prints a line of JSON for every step.

const print = (step, value) => console.log(JSON.stringify({ step, value }))

/** Prints the result of a step, or its error. */
export const record = async (step, work) => {
  try {
    print(step, await work())
  } catch (error) {
    print(step, { error: `${error.name}: ${error.message}` })
  }
}
