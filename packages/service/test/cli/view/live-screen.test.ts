import { describe, expect, it } from 'vitest'
import { LiveScreen } from '../../../src/cli/view/live-screen.js'
import { FakeTerminal } from '../fake-terminal.js'

const screenOn = (terminal: FakeTerminal, { out = true, err = true } = {}) =>
  new LiveScreen({ out: terminal.stream(out), err: terminal.stream(err), env: {} })

describe('LiveScreen on one terminal for stdout and stderr', () => {
  it('rewrites the lines that change and keeps them below the finished lines', () => {
    const terminal = new FakeTerminal(30)
    const screen = screenOn(terminal)
    screen.paint(['left: hel'], ['##--'])
    screen.paint(['left: hello', 'right: yes'], ['###-'])
    expect(terminal.screen).toEqual(['left: hello', 'right: yes', '###-'])
    screen.print('left: hello there\n')
    screen.paint(['right: yes'], ['####'])
    expect(terminal.screen).toEqual(['left: hello there', 'right: yes', '####'])
  })

  it('removes all changing lines, and nothing else', () => {
    const terminal = new FakeTerminal(30)
    const screen = screenOn(terminal)
    screen.print('finished\n')
    screen.paint(['one', 'two'], ['#'])
    screen.clear()
    screen.clear()
    screen.note('a note\n')
    expect(terminal.screen).toEqual(['finished', 'a note'])
  })

  it('lets a finished line that is longer than the terminal wrap', () => {
    const terminal = new FakeTerminal(10)
    const screen = screenOn(terminal)
    screen.paint(['a live one'.slice(0, screen.columns)], ['####'])
    screen.print('a line of twenty-two c\n')
    screen.paint([], ['#'])
    expect(terminal.screen).toEqual(['a line of', 'twenty-two', ' c', '#'])
  })

  it('offers one column less than the terminal has, so that no line wraps', () => {
    expect(screenOn(new FakeTerminal(38)).columns).toBe(37)
    expect(screenOn(new FakeTerminal(0)).columns).toBe(79)
  })
})

describe('LiveScreen with only one of the two as a terminal', () => {
  it('shows no changing line if stdout is a pipe, only the progress', () => {
    const terminal = new FakeTerminal(30)
    const pipe = new FakeTerminal(30)
    const screen = new LiveScreen({ out: pipe.stream(false), err: terminal.stream(), env: {} })
    screen.paint(['left: hel'], ['##--'])
    screen.print('left: hello\n')
    screen.paint([], ['###-'])
    expect([pipe.screen, terminal.screen]).toEqual([['left: hello'], ['###-']])
  })

  it('writes only the finished lines if there is no terminal, or none that can erase', () => {
    for (const [env, isTTY] of [
      [{}, false],
      [{ TERM: 'dumb' }, true],
    ] as const) {
      const terminal = new FakeTerminal(30)
      const stream = terminal.stream(isTTY)
      const screen = new LiveScreen({ out: stream, err: stream, env })
      screen.paint(['left: hel'], ['##--'])
      screen.print('left: hello\n')
      screen.clear()
      expect(terminal.screen).toEqual(['left: hello'])
    }
  })
})
