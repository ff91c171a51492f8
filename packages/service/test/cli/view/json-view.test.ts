import { describe, expect, it } from 'vitest'
import { recordingJson } from '../../../src/cli/view/json-view.js'
import { Segments } from '../../../src/cli/view/segments.js'

describe('the JSON of a recording', () => {
  it('has the slots of a segment, and its words if they are asked for', () => {
    const segments = new Segments()
    const words = [{ text: 'seven', startMs: 0, endMs: 90, confidence: 1 }]
    segments.take({ type: 'milestone', channel: 0, startMs: 0, endMs: 90, text: ' seven', slots: { card: '7' }, words })
    const jsonOf = (hasWords: boolean): unknown =>
      JSON.parse(recordingJson({ file: 'a.wav', audioMs: 99.6, segments, speakers: [], hasWords }))
    const segment = { startMs: 0, endMs: 90, channel: 0, text: 'seven', slots: { card: '7' } }
    expect(jsonOf(false)).toEqual({ file: 'a.wav', audioMs: 100, text: 'seven', segments: [segment] })
    expect(jsonOf(true)).toMatchObject({ segments: [{ ...segment, words }] })
  })
})
