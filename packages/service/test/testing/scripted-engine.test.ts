import { from, toArray, type Observable } from 'rxjs'
import { describe, expect, it } from 'vitest'
import type { Hypothesis, SegmentPart } from '../../../engines/src/engine.js'
import { scriptedEngine, type ScriptedEngineOptions } from '../../src/testing/scripted-engine.js'

const speech = (durationMs: number): SegmentPart => ({ type: 'audio', samples: new Int16Array(durationMs * 8) })
const outputOf = (options: ScriptedEngineOptions, parts: readonly SegmentPart[]): Hypothesis[] => {
  let output: Hypothesis[] = []
  recognizeWith(options, from(parts))
    .pipe(toArray())
    .subscribe((all) => (output = all))
  return output
}
const recognizeWith = (options: ScriptedEngineOptions, part$: Observable<SegmentPart>): Observable<Hypothesis> =>
  part$.pipe(scriptedEngine(options).recognize())

const open = (startMs: number): SegmentPart => ({ type: 'open', startMs })
const close = (endMs: number): SegmentPart => ({ type: 'close', endMs })
const segments = (all: readonly Hypothesis[]): string[] =>
  all.flatMap((hypothesis) => (hypothesis.type === 'segment' ? [hypothesis.text] : []))
const partials = (all: readonly Hypothesis[]): string[] =>
  all.flatMap((event) => (event.type === 'partial' ? [event.text] : []))

describe('the scripted engine', () => {
  it('adds a word to the partial every 300 ms, and emits the segment with its words when it closes', () => {
    const all = outputOf({ texts: ['one two'], confidence: 0.5 }, [
      open(1000),
      speech(299),
      speech(1),
      speech(900),
      close(2200),
    ])
    expect(partials(all)).toEqual(['one', 'one two'])
    expect(all.at(-1)).toEqual({
      type: 'segment',
      startMs: 1000,
      endMs: 2200,
      text: 'one two',
      words: [
        { text: 'one', startMs: 1000, endMs: 1600, confidence: 0.5 },
        { text: 'two', startMs: 1600, endMs: 2200, confidence: 0.5 },
      ],
    })
  })

  it('reports the consumption of every sample', () => {
    const all = outputOf({ texts: ['one'] }, [open(0), speech(20), speech(5), close(25), open(30), speech(10)])
    const counts = all.flatMap((hypothesis) => (hypothesis.type === 'progress' ? [hypothesis.sampleCount] : []))
    expect(counts).toEqual([160, 40, 80])
  })

  it('returns its texts in order and cyclically; each session starts with the first', () => {
    const parts = [0, 1, 2].flatMap((at) => [open(at), close(at + 1)])
    expect(segments(outputOf({ texts: ['a', 'b'] }, parts))).toEqual(['a', 'b', 'a'])
    expect(segments(outputOf({ texts: ['a', 'b'] }, [open(0), close(1)]))).toEqual(['a'])
    expect(segments(outputOf({ texts: [] }, [open(0), close(1)]))).toEqual([''])
  })
})
