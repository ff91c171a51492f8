import type { Host } from '../process/host.js'
import { speedFlag } from '../options/flag-values.js'
import type { Output } from '../process/output.js'
import { sampleCall } from '../process/package-files.js'
import { transcribeRecording } from '../transcription/transcribe-recording.js'
import { LiveScreen } from '../view/live-screen.js'
import { paintFor } from '../view/paint.js'
import { loadProgressLine } from '../view/progress.js'
import { openTextView } from '../view/text-view.js'

export interface DemoFlags {
  readonly speed?: string
}

/** Half a minute of call in less than ten seconds, and slow enough to watch. */
const defaultSpeed = 4

/** `rxspeech demo`: the service and a client of it in one process, over the sample call. */
export const demo = async (flags: DemoFlags, host: Host, output: Output): Promise<void> => {
  const speed = speedFlag('--speed', flags.speed) ?? defaultSpeed
  const file = sampleCall()
  const paint = paintFor(host.stdout, host.env)
  const manner = speed === Infinity ? 'as fast as it goes' : `at ${speed} x real time`
  output.write(
    `${paint('bold', 'rxspeech')} starts its own service in this process, gets a token from it and streams a telephone call through gRPC ${manner}.\n\n`,
  )
  const summary = await transcribeRecording(
    {
      input: { file },
      service: { where: 'here', modelFolders: [], model: 'call', tenant: 'Default', project: 'transcribe' },
      over: 'grpc',
      pace: { speed },
    },
    async ({ durationMs }, reader) => {
      const progressLine = await loadProgressLine()
      return openTextView({
        screen: new LiveScreen({ out: output.terminal, err: host.stderr, env: host.env }),
        reader,
        style: { speakers: ['agent', 'customer'], paint },
        follow: speed === Infinity ? 'heard' : 'sent',
        ...(durationMs === undefined ? {} : { totalMs: durationMs }),
        ...(progressLine === undefined ? {} : { progressLine }),
      })
    },
    host,
    output,
  )
  output.write(`\n${paint('green', summary)}\n`)
}
