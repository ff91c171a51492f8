import { it } from 'vitest'

/** Whether everything is tried, as `npm run test:all` and `.ci/run` do. `npm test` tries a share of what is long. */
const isThorough = process.env['RXSPEECH_THOROUGH'] === '1'

/** How many runs a property gets. */
export const runs = (all: number): number => (isThorough ? all : Math.ceil(all / 6))

/** The first few of a list of cases that take long and differ little. */
export const first = <Case>(count: number, cases: readonly Case[]): readonly Case[] =>
  isThorough ? cases : cases.slice(0, count)

/** The step through a range of cases that differ little from one to the next: each, or every nth. */
export const everyNth = (nth: number): number => (isThorough ? 1 : nth)

/** A test that starts processes or decodes minutes of speech, of a kind of which `npm test` runs another one. */
export const longIt = it.runIf(isThorough)
