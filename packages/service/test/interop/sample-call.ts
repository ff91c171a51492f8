import { readFileSync } from 'node:fs'

export const callFile = 'samples/call.wav'

interface Turn {
  readonly channel: number
  readonly text: string
}

const { turns } = JSON.parse(readFileSync('samples/call.json', 'utf8')) as { readonly turns: readonly Turn[] }

/** The text of a channel of the sample call, turn by turn. */
export const turnsOf = (channel: number): readonly string[] =>
  turns.filter((turn) => turn.channel === channel).map(({ text }) => text)

export const transcriptOf = (channel: number): string => turnsOf(channel).join(' ')
