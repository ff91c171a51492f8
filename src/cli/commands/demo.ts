import type { Command } from 'commander'
import { findServicePackage } from '../../service/threads/load-optional.js'
import { defineCommand, type CommandContext } from '../parsing/command.js'
import { flagOr } from '../parsing/flags.js'
import { exampleText, helpColumns, wrapText } from '../parsing/help-text.js'
import { speed } from '../parsing/values.js'
import type { Host } from '../process/host.js'
import { sampleCall } from '../process/package-files.js'
import { paintFor } from '../view/paint.js'
import { openTextView } from '../view/text-view.js'
import { programOf, shellWord, shortPath } from '../view/typed-command.js'

const demoFlags = {
  // Half a minute of audio in less than ten seconds, and slow enough to watch.
  speed: flagOr('<times>', 'times real time, or max', speed, '4'),
}

/** Nothing is waited for but this machine, which may be slow. */
const timeoutMs = 120_000

/** Three commands to try next, as they work in this folder. */
const nextSteps = (call: string, { stdout, env }: Host): string => {
  const program = programOf(env, findServicePackage() !== undefined)
  const file = shellWord(shortPath(call, process.cwd()))
  return exampleText(
    [
      [`${program} serve --dev`, 'sessions in your browser, on the page whose address it prints'],
      [`${program} transcribe ${file} --format vtt --speakers agent,customer`, 'captions of this call'],
      [
        `echo 'turn the lights on' > phrases.txt && ${program} models add lights --phrases phrases.txt --models models && ${program} serve --dev --models models`,
        'sentences of your own, to speak on that page',
      ],
    ],
    { paint: paintFor(stdout, env), columns: helpColumns(stdout) },
    'Try next',
  )
}

/** `rxspeech demo`: the service and a client of it in one process, over the sample call. */
export const addDemo = (command: Command, context: CommandContext): void =>
  defineCommand(command, context, {
    description:
      'Starts the service in this process (token endpoint, gRPC and WebSocket over TLS), gets a token from it and ' +
      'transcribes the sample call through a gRPC session. Needs no account and no network.',
    flags: demoFlags,
    run: async ({ flags, host, output }) => {
      const file = sampleCall()
      const paint = paintFor(host.stdout, host.env)
      const how = flags.speed === Infinity ? 'as fast as it goes' : `at ${flags.speed} x real time`
      const intro = `rxspeech starts its own service in this process, gets a token from it and streams a telephone call through gRPC ${how}.`
      const lines = wrapText(intro, helpColumns(host.stdout)).join('\n')
      output.write(`${lines.replace('rxspeech', paint('bold', 'rxspeech'))}\n\n`)
      const { transcribeRecording } = await import('../transcription/transcribe-recordings.js')
      const summary = await transcribeRecording(
        {
          service: { where: 'here', modelFolders: [], model: 'call', tenant: 'Default', project: 'transcribe' },
          over: 'grpc',
          pace: { speed: flags.speed },
          timeoutMs,
        },
        {
          input: { file },
          openView: ({ format: { channels } }, reader, pane) =>
            openTextView({
              ...{ pane, reader, channels },
              style: { speakers: ['agent', 'customer'], paint },
              isPaced: false,
            }),
          whenWritable: output.whenWritable,
          ended: () => undefined,
        },
        host,
        output,
      )
      output.write(`\n${paint('green', summary)}\n`)
      output.write(`${nextSteps(file, host)}\n`)
    },
  })
