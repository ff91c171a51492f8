/** Whether everything is tried, as `npm run test:all` and `.ci/run` do. `npm test` tries a share of what is long. */
const isThorough = process.env['RXSPEECH_THOROUGH'] === '1'

/** How many runs a property gets. */
export const runs = (all: number): number => (isThorough ? all : Math.ceil(all / 6))

/** The step through a range of cases that differ little from one to the next: each, or every nth. */
export const everyNth = (nth: number): number => (isThorough ? 1 : nth)
