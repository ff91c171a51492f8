import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { LiveScreen } from '../../../src/cli/view/live-screen.js'
import { Panes, refreshMs } from '../../../src/cli/view/panes.js'
import { FakeTerminal } from '../fake-terminal.js'

const openPanes = ({ rows = 24, out = true, err = true, status = true } = {}) => {
  const terminal = new FakeTerminal(40, rows)
  const pipe = new FakeTerminal(40)
  const screen = new LiveScreen({
    out: out ? terminal.stream() : pipe.stream(false),
    err: err ? terminal.stream() : pipe.stream(false),
    env: {},
  })
  const panes = new Panes({ screen, status: status ? (hidden) => `${hidden} hidden` : undefined })
  return { terminal, pipe, panes }
}

describe('the panes of several recordings', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it('write in the order in which they were opened, not of arrival', () => {
    const { pipe, panes } = openPanes({ out: false, err: false })
    const [first, second, third] = [panes.open(), panes.open(), panes.open()]
    third.write('third\n')
    third.end()
    second.write('second\n')
    second.note('a note on the second\n')
    first.write('first\n')
    expect(pipe.screen).toEqual(['first'])
    first.end()
    expect(pipe.screen).toEqual(['first', 'second', 'a note on the second'])
    second.end()
    second.end()
    const late = panes.open()
    late.write('late\n')
    expect(pipe.screen).toEqual(['first', 'second', 'a note on the second', 'third', 'late'])
    panes.end()
  })

  it('show the progress of all, and the words of the one whose turn it is', () => {
    const { terminal, panes } = openPanes()
    const [first, second] = [panes.open(), panes.open()]
    let words = 'hel'
    first.show({ live: () => [words] })
    first.show({ progress: () => '#1' })
    second.show({ live: () => ['not yet'], progress: () => '#2' })
    vi.advanceTimersByTime(refreshMs)
    expect(terminal.screen).toEqual(['hel', '#1', '#2', '0 hidden'])
    words = 'hello'
    vi.advanceTimersByTime(refreshMs)
    expect(terminal.screen).toEqual(['hello', '#1', '#2', '0 hidden'])
    first.write('hello.\n')
    first.end()
    vi.advanceTimersByTime(refreshMs)
    expect(terminal.screen).toEqual(['hello.', 'not yet', '#2', '0 hidden'])
    panes.end()
    expect(terminal.screen).toEqual(['hello.'])
  })

  it('take no more rows than the terminal has, less the one of the cursor', () => {
    const { terminal, panes } = openPanes({ rows: 5 })
    const all = [1, 2, 3, 4, 5].map((number) => ({ pane: panes.open(), number }))
    for (const { pane, number } of all) pane.show({ live: () => ['a', 'b'], progress: () => `#${number}` })
    vi.advanceTimersByTime(refreshMs)
    expect(terminal.screen).toEqual(['#1', '#2', '#3', '2 hidden'])
    all[0]?.pane.end()
    all[1]?.pane.end()
    all[2]?.pane.end()
    vi.advanceTimersByTime(refreshMs)
    // Of the words, the last ones.
    expect(terminal.screen).toEqual(['b', '#4', '#5', '0 hidden'])
    panes.end()
  })

  it('write whole lines and nothing else where stderr is no terminal', () => {
    const { pipe, panes } = openPanes({ out: false, err: false })
    const pane = panes.open()
    pane.show({ live: () => ['hel'], progress: () => '#' })
    pane.refresh()
    vi.advanceTimersByTime(10 * refreshMs)
    pane.write('hello\n')
    expect(pipe.screen).toEqual(['hello'])
    expect(vi.getTimerCount()).toBe(0)
    panes.end()
  })

  it('pause the progress on stderr after text for a pipe, whose reader may print to the same terminal', () => {
    const { terminal, pipe, panes } = openPanes({ out: false })
    const pane = panes.open()
    pane.show({ progress: () => '#' })
    pane.write('hello\n')
    vi.advanceTimersByTime(refreshMs)
    expect([pipe.screen, terminal.screen]).toEqual([['hello'], []])
    vi.advanceTimersByTime(refreshMs)
    expect(terminal.screen).toEqual(['#', '0 hidden'])
    panes.end()
    expect(vi.getTimerCount()).toBe(0)
  })
})
