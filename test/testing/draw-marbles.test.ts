import { concat, EMPTY, NEVER, of, takeUntil, throwError, timer, VirtualTimeScheduler, type Observable } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { drawMarbles } from '../../src/testing/draw-marbles.js'

const drawn = async (
  stream: (scheduler: VirtualTimeScheduler) => Observable<string>,
  symbol?: (value: string) => string,
): Promise<string> => {
  const scheduler = new VirtualTimeScheduler()
  const line = drawMarbles(stream(scheduler), { frameMs: 10, scheduler, ...(symbol && { symbol }) })
  scheduler.flush()
  return line
}
const after = (ms: number, scheduler: VirtualTimeScheduler): Observable<never> =>
  NEVER.pipe(takeUntil(timer(ms, scheduler)))

describe('a marble diagram', () => {
  it('has time, values and the end', async () => {
    expect(await drawn((time) => concat(after(20, time), of('a'), after(30, time), of('b'), after(10, time)))).toBe(
      '--o--o|',
    )
    expect(await drawn(() => EMPTY)).toBe('|')
    expect(await drawn((time) => after(30, time))).toBe('---|')
  })

  it('shows an error, and groups simultaneous values in brackets', async () => {
    expect(
      await drawn((time) =>
        concat(
          after(20, time),
          throwError(() => new Error('x')),
        ),
      ),
    ).toBe('--#')
    const both = (time: VirtualTimeScheduler): Observable<string> => concat(of('a', 'b'), after(80, time), of('c'))
    expect(await drawn(both, (value) => value)).toBe('(ab)----(c|)')
  })
})
