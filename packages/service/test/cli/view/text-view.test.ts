import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { openTextView } from '../../../src/cli/view/text-view.js'
import { LiveScreen } from '../../../src/cli/view/live-screen.js'
import { Panes } from '../../../src/cli/view/panes.js'
import { silentAfterMs } from '../../../src/cli/view/line-order.js'
import { TranscriptReader } from '../../../src/cli/view/transcript-reader.js'
import { accumulate, emptyTranscript } from '../../../../../src/operators/results/transcript.js'
import { FakeTerminal } from '../fake-terminal.js'

const openView = ({ isTTY = false, speed = 1 }) => {
  const terminal = new FakeTerminal(60)
  const screen = new LiveScreen({
    out: terminal.stream(isTTY),
    err: new FakeTerminal(60).stream(false),
    env: {},
  })
  const panes = new Panes({ screen })
  const textView = openTextView({
    pane: panes.open(),
    reader: new TranscriptReader(),
    style: { speakers: ['agent', 'guest'], paint: (_color, text) => text },
    channels: 2,
    isPaced: speed !== Infinity,
  })
  const end = (): void => {
    textView.end()
    panes.end()
  }
  const view = { ...textView, end }
  let state = emptyTranscript
  const say = (type: 'partial' | 'milestone', channel: number, startMs: number, endMs: number, text: string): void => {
    const event = { type, channel, startMs, endMs, text } as const
    state = accumulate(state, event)
    view.event(event, state)
  }
  return { terminal, view, say }
}

describe('the text of a transcription', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it('has the lines of two channels in the order of time', () => {
    const { terminal, view, say } = openView({ speed: Infinity })
    say('milestone', 0, 500, 3400, 'good evening')
    say('milestone', 0, 6500, 9000, ' of course')
    expect(terminal.screen).toEqual([])
    say('milestone', 1, 3200, 6700, 'hello')
    expect(terminal.screen).toEqual([
      '[00:00.5] agent: good evening',
      '[00:03.2] guest: hello',
      '[00:06.5] agent: of course',
    ])
    view.end()
  })

  it('prints a line beside a silent channel without another event', () => {
    const { terminal, view, say } = openView({})
    view.sent(4000)
    say('milestone', 0, 3000, 3800, 'hello')
    vi.advanceTimersByTime(silentAfterMs - 100)
    expect(terminal.screen).toEqual([])
    vi.advanceTimersByTime(200)
    expect(terminal.screen).toEqual(['[00:03.0] agent: hello'])
    view.end()
  })

  it('prints the waiting lines at the end', () => {
    const { terminal, view, say } = openView({})
    say('milestone', 1, 3000, 3800, 'hello')
    expect(terminal.screen).toEqual([])
    view.end()
    expect(terminal.screen).toEqual(['[00:03.0] guest: hello'])
  })

  it('shows waiting lines and words that may still change on a terminal, in the order of time', () => {
    const { terminal, view, say } = openView({ isTTY: true })
    say('partial', 1, 1000, 1500, 'i would')
    say('milestone', 0, 1500, 1900, 'yes')
    expect(terminal.screen).toEqual(['[00:01.0] guest: i would', '[00:01.5] agent: yes'])
    say('milestone', 1, 1000, 2500, 'i would like a table')
    expect(terminal.screen).toEqual(['[00:01.0] guest: i would like a table', '[00:01.5] agent: yes'])
    view.end()
  })
})
