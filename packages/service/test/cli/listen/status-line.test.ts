import { describe, expect, it } from 'vitest'
import { statusLine, type Status } from '../../../src/cli/listen/status-line.js'
import { displayWidth } from '../../../src/cli/view/plain-text.js'

const keys = [
  ['space', 'mute'],
  ['q', 'end'],
  ['c', 'copy'],
] as const
const line = (columns: number, more: Partial<Status> = {}): string =>
  statusLine({ state: 'listening', audioMs: 83_400, peak: 0.25, keys, ...more }, (_color, text) => text, columns)

describe('statusLine', () => {
  it('has the time, the level and the keys', () => {
    expect(line(80)).toBe('● listening 01:23 ████████████░░░░  space mute  q end  c copy')
    expect(line(80, { peak: 0 })).toBe('● listening 01:23 ░░░░░░░░░░░░░░░░  space mute  q end  c copy')
    expect(line(80, { state: 'muted' })).toBe('○ muted 01:23  space mute  q end  c copy')
  })

  it('keeps the keys in a narrow terminal, and is never wider', () => {
    expect(line(39)).toBe('● 01:23 █████░  space mute  q end')
    expect(line(39, { state: 'paused' })).toBe('○ paused 01:23  space mute  q end')
    for (let columns = 1; columns < 90; columns++) expect(displayWidth(line(columns))).toBeLessThanOrEqual(columns)
  })

  it('is yellow where it is loud, and red where it is clipped', () => {
    const colorAt = (peak: number): string | undefined =>
      /(green|yellow|red)█/.exec(
        statusLine({ state: 'listening', audioMs: 0, peak, keys }, (color, text) => color + text, 80),
      )?.[1]
    expect([0.1, 0.5, 1].map(colorAt)).toEqual(['green', 'yellow', 'red'])
  })
})
