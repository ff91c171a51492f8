import type { Command } from 'commander'
import { defineCommand, type CommandContext } from '../parsing/command.js'
import { flag } from '../parsing/flags.js'
import { modelFlags } from '../parsing/service-flags.js'
import { text } from '../parsing/values.js'
import { sampleCall } from '../process/package-files.js'

const replFlags = {
  audio: flag('<file>', 'the sample, a WAV file of 8000 or 16000 Hz (default: the sample call)', text),
  model: modelFlags.model,
  models: modelFlags.models,
}

/** `rxspeech repl`: an interactive session of Node with a service in memory. */
export const addRepl = (command: Command, context: CommandContext): void =>
  defineCommand(command, context, {
    description:
      'Starts a session of Node in which rxjs, rxspeech, a sample and a service in memory are at hand, to try sessions ' +
      'and operators line by line. await works; .exit or Ctrl-D ends it.',
    flags: replFlags,
    examples: [
      ['rxspeech repl', 'and then what it proposes'],
      ["echo 'await lastValueFrom(sample.audio$.pipe(count()))' | rxspeech repl", 'lines from a pipe'],
    ],
    run: async ({ flags, host }) => {
      const { runRepl } = await import('../repl/run-repl.js')
      await runRepl({ file: flags.audio ?? sampleCall(), model: flags.model, models: flags.models }, host)
    },
  })
