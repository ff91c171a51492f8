import type { Command } from 'commander'
import { defineCommand, type CommandContext } from '../parsing/command.js'
import { flagOr } from '../parsing/flags.js'
import { speed } from '../parsing/values.js'
import { sampleCall } from '../process/package-files.js'
import { paintFor } from '../view/paint.js'
import { openTerminalView } from '../view/text-view.js'

const demoFlags = {
  // Half a minute of audio in less than ten seconds, and slow enough to watch.
  speed: flagOr('<times>', 'times real time, or max', speed, '4'),
}

/** Nothing is waited for but this machine, which may be slow. */
const timeoutMs = 120_000

/** `rxspeech demo`: the service and a client of it in one process, over the sample call. */
export const addDemo = (command: Command, context: CommandContext): void =>
  defineCommand(command, context, {
    description:
      'Starts the service in this process (token endpoint, gRPC and WebSocket over TLS), gets a token from it and\n' +
      'transcribes the sample call through a gRPC session. Needs no account and no network.',
    flags: demoFlags,
    run: async ({ flags, host, output }) => {
      const file = sampleCall()
      const paint = paintFor(host.stdout, host.env)
      const how = flags.speed === Infinity ? 'as fast as it goes' : `at ${flags.speed} x real time`
      output.write(
        `${paint('bold', 'rxspeech')} starts its own service in this process, gets a token from it and streams a telephone call through gRPC ${how}.\n\n`,
      )
      const { transcribeRecording } = await import('../transcription/transcribe-recording.js')
      const summary = await transcribeRecording(
        {
          input: { file },
          service: { where: 'here', modelFolders: [], model: 'call', tenant: 'Default', project: 'transcribe' },
          over: 'grpc',
          pace: { speed: flags.speed },
          timeoutMs,
        },
        ({ durationMs }, reader) =>
          openTerminalView({
            terminals: { out: output.terminal, err: host.stderr, env: host.env },
            reader,
            style: { speakers: ['agent', 'customer'], paint },
            speed: flags.speed,
            totalMs: durationMs,
          }),
        host,
        output,
      )
      output.write(`\n${paint('green', summary)}\n`)
    },
  })
