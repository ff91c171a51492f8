import { describe, expect, it } from 'vitest'
import { captionView } from '../../../src/cli/view/caption-view.js'
import { TranscriptReader } from '../../../src/cli/view/transcript-reader.js'
import { emptyTranscript } from '../../../../../src/operators/results/transcript.js'
import type { SessionEvent } from '../../../../../src/protocol/session-event.js'

const milestone = (text: string, times: object = {}): SessionEvent => ({ type: 'milestone', text, ...times })

/** Two milestones of a service, the second after 4 s of audio were sent. */
const shown = (
  isHurried: boolean,
  times: readonly object[] = [{}, {}],
): { readonly vtt: string; readonly notes: string[] } => {
  let vtt = ''
  const notes: string[] = []
  const view = captionView({
    format: 'vtt',
    reader: new TranscriptReader(),
    speakers: [],
    channels: 1,
    isHurried,
    write: (text) => (vtt += text),
    note: (line) => void notes.push(line),
  })
  view.event({ type: 'connection', state: 'streaming' }, emptyTranscript)
  view.sent(1_000)
  view.event(milestone('good evening', times[0]), emptyTranscript)
  view.sent(4_000)
  view.event(milestone(' and welcome', times[1]), emptyTranscript)
  view.end()
  return { vtt, notes }
}

describe('captionView', () => {
  it('places results without times at the audio position of their arrival, at any speed', () => {
    const { vtt, notes } = shown(false)
    expect(vtt.match(/[\d:.]+ --> [\d:.]+/g)).toEqual([
      '00:00:00.025 --> 00:00:01.025',
      '00:00:03.100 --> 00:00:04.100',
    ])
    expect(notes).toEqual([])
  })

  it('reports once that such positions are inaccurate when audio is not sent in real time', () => {
    expect(shown(true).notes).toEqual([expect.stringContaining('--speed 1')])
    const timed = [
      { startMs: 0, endMs: 900 },
      { startMs: 3_000, endMs: 3_900 },
    ]
    expect(shown(true, timed).notes).toEqual([])
  })
})
