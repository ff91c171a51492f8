import { describe, expect, it } from 'vitest'
import { statusLine } from '../../../src/cli/view/status-line.js'

const tally = { ended: 4, failed: 1, interrupted: 0, total: 12, startedMs: 0 }

describe('the status of several recordings', () => {
  it('has the time that is left, counting running ones as half done', () => {
    const text = '3 of 12 done, 1 failed, 2:20 left, 2 more running'
    expect(statusLine(tally, { running: 2, hidden: 2 }, 80, 100_000)).toBe(text)
  })

  it.each([
    [39, '3 of 12 done, 1 failed, 2:20 left'],
    [25, '3 of 12 done, 1 failed'],
    [12, '3 of 12 done'],
    [8, '…12 done'],
  ])('leaves out what does not fit in %i columns', (columns, text) => {
    expect(statusLine(tally, { running: 2, hidden: 2 }, columns, 100_000)).toBe(text)
  })

  it('has no end where their number is not known', () => {
    const open = { ...tally, total: undefined }
    expect(statusLine(open, { running: 1, hidden: 0 }, 80, 100_000)).toBe('3 done, 1 failed')
    expect(statusLine({ ...tally, ended: 0, failed: 0 }, { running: 1, hidden: 0 }, 80, 1)).toBe('0 of 12 done')
    expect(statusLine({ ...tally, failed: 0 }, { running: 2, hidden: 0 }, 80, 9e6)).toBe(
      '4 of 12 done, 3 h 30 min left',
    )
  })
})
