import type { Host } from '../process/host.js'
import type { Output } from '../process/output.js'
import { planTranscribe, type TranscribeFlags, type TranscribePlan } from '../options/plan-transcribe.js'
import { transcribeRecording, type OpenView } from '../transcription/transcribe-recording.js'
import { captionView } from '../view/caption-view.js'
import { LiveScreen } from '../view/live-screen.js'
import { ndjsonView } from '../view/ndjson-view.js'
import { paintFor } from '../view/paint.js'
import { loadProgressLine } from '../view/progress.js'
import { openTextView } from '../view/text-view.js'

/** `rxspeech transcribe FILE`: the transcript on stdout, the summary on stderr. */
export const transcribe = async (file: string, flags: TranscribeFlags, host: Host, output: Output): Promise<void> => {
  const plan = planTranscribe(file, flags, host.env)
  const summary = await transcribeRecording(plan, viewFor(plan, host, output), host, output)
  host.stderr.write(`${summary}\n${readsWithSample(plan) ? sampleNote : ''}`)
}

/** Whoever names no model gets a grammar of one call, whatever was said. */
const sampleNote =
  'Read with the sample model "call", which knows one phone call only; give --models for recordings of your own.\n'

const readsWithSample = ({ service }: TranscribePlan): boolean =>
  service.where === 'here' && service.modelFolders.length === 0 && service.model === 'call'

const viewFor = (plan: TranscribePlan, host: Host, output: Output): OpenView => {
  const { format } = plan
  switch (format) {
    case 'text':
      return textView(plan, host, output)
    case 'ndjson':
      return (_audio, reader) => ndjsonView(output.write, reader)
    case 'vtt':
    case 'srt':
      return ({ format: { channels }, durationMs }, reader) =>
        captionView({
          format,
          reader,
          speakers: channels === 1 ? [] : plan.speakers,
          ...(durationMs === undefined ? {} : { channels, hurries: plan.pace.speed > 1 }),
          write: output.write,
          note: (line) => void host.stderr.write(`${line}\n`),
        })
  }
}

const textView =
  ({ speakers, pace }: TranscribePlan, host: Host, output: Output): OpenView =>
  async ({ format, durationMs }, reader) => {
    const progressLine = await loadProgressLine()
    return openTextView({
      screen: new LiveScreen({ out: output.terminal, err: host.stderr, env: host.env }),
      reader,
      style: { speakers: format.channels === 1 ? [] : speakers, paint: paintFor(host.stdout, host.env) },
      follow: pace.speed === Infinity ? 'heard' : 'sent',
      ...(durationMs === undefined ? {} : { totalMs: durationMs }),
      ...(progressLine === undefined ? {} : { progressLine }),
    })
  }
