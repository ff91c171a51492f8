import type { Command } from 'commander'
import { readCassette } from 'rxspeech/internal/cassette/format/read-cassette'
import { isSpeechError, SpeechError } from 'rxspeech/internal/errors/speech-error'
import { unreadable } from '../input/byte-source.js'
import { defineCommand, type CommandCall, type CommandContext } from '../parsing/command.js'
import type { Flags } from '../parsing/flags.js'
import { text } from '../parsing/values.js'
import { cassetteList, cassetteTitle } from '../view/cassette-list.js'

/** `rxspeech cassette`. */
export const addCassette = (command: Command, context: CommandContext): void => {
  command.helpCommand(false).description('Shows sessions that `rxspeech transcribe --record` or the library recorded.')
  defineCommand(command.command('show').summary('list the messages of a cassette'), context, {
    description:
      'Lists the messages of a session with their times, and how much audio was sent until then. The studio shows it with its audio.',
    argument: ['<file>', 'the cassette'],
    flags: {},
    examples: [
      ['rxspeech transcribe call.wav --record call.jsonl', 'record one'],
      ['rxspeech cassette show call.jsonl', 'list its messages'],
    ],
    run: showCassette,
  })
}

type ShowCall = Pick<CommandCall<Flags, string>, 'argument' | 'output'>

/** The messages of the session, one per line. */
const showCassette = async ({ argument, output }: ShowCall): Promise<void> => {
  const file = text(argument, 'FILE')
  const cassette = await readCassette(file).catch((error: unknown) => {
    throw cannotRead(file, error)
  })
  output.write(`${cassetteTitle(cassette.header)}\n\n${cassetteList(cassette)}`)
}

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
