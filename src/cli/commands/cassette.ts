import { writeFile } from 'node:fs/promises'
import type { Command } from 'commander'
import { readCassette } from '../../cassette/format/read-cassette.js'
import { textColumns } from '../../cassette/chart/draw-text.js'
import { toMarbles, widthCodecs } from '../../cassette/chart/to-marbles.js'
import { codeOf, isSpeechError, SpeechError } from '../../errors/speech-error.js'
import { unreadable } from '../input/byte-source.js'
import { defineCommand, type CommandCall, type CommandContext } from '../parsing/command.js'
import { flag } from '../parsing/flags.js'
import { numberFlag, text } from '../parsing/values.js'
import { CommandError } from '../process/failure.js'
import type { ScreenStream } from '../view/live-screen.js'

const showFlags = {
  svg: flag('<file>', 'write a picture instead; - for standard output', text),
  width: flag('<n>', 'columns of the text (default: the terminal, else 100), pixels of the picture (1200)', text),
}

/** `rxspeech cassette`. */
export const addCassette = (command: Command, context: CommandContext): void => {
  command.helpCommand(false).description('Shows sessions that `rxspeech transcribe --record` or the library recorded.')
  defineCommand(command.command('show').summary('draw a cassette as marbles'), context, {
    description:
      'Draws a session over time: connections, control messages, audio, speech, partials, milestones, finals.',
    argument: ['<file>', 'the cassette'],
    flags: showFlags,
    examples: [
      ['rxspeech transcribe call.wav --record call.jsonl', 'record one'],
      ['rxspeech cassette show call.jsonl --svg call.svg', 'draw it as a picture'],
    ],
    run: showCassette,
  })
}

/** The session as text, or with `--svg` as a picture. */
const showCassette = async ({
  argument,
  flags: { svg, width: typed },
  output,
}: CommandCall<typeof showFlags, string>): Promise<void> => {
  const width =
    typed === undefined ? undefined : numberFlag(widthCodecs[svg === undefined ? 'text' : 'svg'])(typed, '--width')
  const file = text(argument, 'FILE')
  const cassette = await readCassette(file).catch((error: unknown) => {
    throw cannotRead(file, error)
  })
  if (svg === undefined) {
    output.write(`${toMarbles(cassette, { width: width ?? columnsOf(output.terminal) })}\n`)
    return
  }
  const picture = toMarbles(cassette, { as: 'svg', width })
  if (svg === '-') output.write(picture)
  else await writeFile(svg, picture).catch((error: unknown) => Promise.reject(cannotWrite(svg, error)))
}

/** The width of the terminal, within what a drawing can have. */
const columnsOf = ({ isTTY, columns }: ScreenStream): number | undefined =>
  isTTY === true && columns !== undefined ? Math.min(textColumns.max, Math.max(textColumns.min, columns)) : undefined

/** The sentence for a peer, which can send another message. */
const notJson = 'The text is not JSON; send one JSON object.'

/** A file that is not a cassette is an unreadable input: exit code 3. */
const cannotRead = (file: string, error: unknown): SpeechError => {
  if (!isSpeechError(error)) return unreadable(file, error)
  return error.code === 'source-failed'
    ? unreadable(file, error.cause)
    : new SpeechError(
        'source-failed',
        `${file} is not a readable cassette. ${error.message.replace(notJson, 'it must be one JSON object.')}`,
      )
}

const cannotWrite = (file: string, error: unknown): CommandError => {
  return new CommandError(`${file} cannot be written (${codeOf(error) ?? 'unknown'}); choose another file for --svg.`)
}
