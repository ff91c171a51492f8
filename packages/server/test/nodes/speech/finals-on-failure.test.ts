import { concat, from, NEVER, of, Subject, throwError, toArray, lastValueFrom, type Observable } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { SpeechError } from '../../../../../src/errors/speech-error.js'
import { finalsOnFailure } from '../../../src/nodes/speech/finals-on-failure.js'
import type { NodeItem } from '../../../src/nodes/core/node.js'

const event = (name: string, channel: number, text: string, startMs = 0, endMs = 0): NodeItem => ({
  type: 'event',
  event: { name, channel, startMs, endMs, data: { Text: text } },
})

const outcomeOf = async (item$: Observable<NodeItem>, channels = 2): Promise<{ items: NodeItem[]; error: unknown }> => {
  const items: NodeItem[] = []
  let error: unknown
  await new Promise<void>((resolve) => {
    item$.pipe(finalsOnFailure(channels)).subscribe({
      next: (item) => items.push(item),
      error: (fault: unknown) => {
        error = fault
        resolve()
      },
      complete: resolve,
    })
  })
  return { items, error }
}

const fails = (error: unknown): Observable<never> => throwError(() => error)

describe('finalsOnFailure', () => {
  it('emits a final with the error and the milestones for each channel without one, then the error', async () => {
    const error = new SpeechError('engine-failed', 'It broke.')
    const milestones = [
      event('SR Milestone', 1, 'a', 10, 20),
      event('SR Milestone', 1, ' b', 30, 40),
      event('Other', 1, 'c'),
    ]
    const { items, error: last } = await outcomeOf(concat(from(milestones), fails(error)))
    const Error = 'engine-failed: It broke.'
    expect(items).toEqual([
      ...milestones,
      {
        type: 'event',
        event: { name: 'SR Final', channel: 0, startMs: -1, endMs: -1, data: { Text: '', Confidence: 0, Error } },
      },
      {
        type: 'event',
        event: { name: 'SR Final', channel: 1, startMs: 10, endMs: 40, data: { Text: 'a b', Confidence: 0, Error } },
      },
    ])
    expect(last).toBe(error)
  })

  it('emits no second final, and none without an error', async () => {
    const final = event('SR Final', 0, 'x')
    const failed = await outcomeOf(concat(of(final), fails(new SpeechError('engine-failed', 'x'))))
    expect(failed.items.map((item) => item.type === 'event' && item.event.channel)).toEqual([0, 1])
    expect((await outcomeOf(of(final))).items).toEqual([final])
    expect((await lastValueFrom(of(final).pipe(finalsOnFailure(2), toArray()))).length).toBe(1)
  })

  it("shows other errors than the engine's as internal", async () => {
    for (const error of [new TypeError('/secret/path'), new SpeechError('missing-dependency', 'npm install secret')]) {
      const { items, error: last } = await outcomeOf(fails(error), 1)
      expect(JSON.stringify(items)).toContain('internal: ')
      expect(JSON.stringify(items)).not.toContain('secret')
      expect(last).toBe(error)
    }
  })

  it('emits them when the session is aborted, drops later items, and completes', () => {
    const item$ = new Subject<NodeItem>()
    const aborted$ = new Subject<SpeechError>()
    const milestones: unknown[] = []
    item$.pipe(finalsOnFailure(2, 0, aborted$)).subscribe({
      next: (item) => milestones.push(item.type === 'event' && [item.event.name, item.event.channel, item.event.data]),
      complete: () => milestones.push('complete'),
    })
    item$.next(event('SR Milestone', 1, 'a', 10, 20))
    item$.next(event('SR Final', 0, 'b', 10, 20))
    milestones.length = 0
    aborted$.next(new SpeechError('cut-sample', 'Cut.'))
    expect(item$.observed).toBe(false)
    expect(milestones).toEqual([['SR Final', 1, { Text: 'a', Confidence: 0, Error: 'cut-sample: Cut.' }], 'complete'])
  })

  it('emits nothing after unsubscription', () => {
    const items: NodeItem[] = []
    const life = NEVER.pipe(finalsOnFailure(1)).subscribe((item) => items.push(item))
    life.unsubscribe()
    expect(items).toEqual([])
  })
})
