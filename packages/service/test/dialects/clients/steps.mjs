// What the programs of this folder share: each prints a line of JSON for every step.
import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'

const print = (step, value) => console.log(JSON.stringify({ step, value }))

const only = process.env.ONLY?.split('; ')

/** How many turns the speaker of the recording has. */
export const turns = Number(process.env.TURNS)

/** Prints the result of a step, or its error. With `ONLY` the other steps are omitted. */
export const record = async (step, work) => {
  if (only?.includes(step) === false) return
  try {
    print(step, await work())
  } catch (error) {
    print(step, { error: `${error.name}: ${error.message}` })
  }
}

/** The rate of the recording, and its samples of 16 bits. */
export const samples = () => {
  const wav = readFileSync(process.env.RECORDING)
  return { rate: wav.readUInt32LE(24), pcm: wav.subarray(44) }
}

/** Some clients connect again up to 5 s after a close that they do not expect; the service counts the sessions. */
export const linger = () => (only === undefined ? pause(7_000) : undefined)
