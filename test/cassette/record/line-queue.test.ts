import { describe, expect, it } from 'vitest'
import { LineQueue, type CassetteLoss } from '../../../src/cassette/record/line-queue.js'

const japanese = '\u3053\u3093\u306b\u3061\u306f'

describe('the queue of a cassette', () => {
  it('is bounded by bytes and reports bytes, also for text of several bytes a character', async () => {
    const losses: CassetteLoss[] = []
    const written: string[] = []
    let release = (): void => undefined
    const gate = new Promise<void>((resolve) => (release = resolve))
    const queue = new LineQueue(
      {
        write: (line) => {
          written.push(line)
          return line === 'first' ? gate : undefined
        },
      },
      { maxQueueBytes: 30, onLoss: (loss) => losses.push(loss) },
    )
    const lost = (lines: number, bytes: number): string => `lost ${lines} lines, ${bytes} bytes`
    queue.push('first', lost)
    for (let line = 0; line < 4; line += 1) queue.push(japanese, lost)
    release()
    await new Promise<void>((resolve) => queue.finish(resolve))
    expect(Buffer.byteLength(japanese)).toBe(15)
    expect(written).toEqual(['first', japanese, japanese, 'lost 2 lines, 30 bytes'])
    expect(losses).toEqual([{ lines: 2, bytes: 30, cause: 'sink-slow' }])
  })
})
