import { describe, expect, it } from 'vitest'
import * as browser from '../../src/browser.js'
import * as node from '../../src/index.js'

describe("the browser's door", () => {
  it('has what a client needs', () => {
    expect(Object.keys(browser).sort()).toEqual([
      'SpeechError',
      'accumulateMilestones',
      'chunk',
      'deinterleave',
      'isSpeechError',
      'keepFresh',
      'recognize',
      'transcode',
    ])
  })

  it('is a part of the door of Node, where only recognize has another socket', () => {
    const { recognize, ...same } = browser
    expect(node).toMatchObject(same)
    expect(recognize).not.toBe(node.recognize)
  })

  it('refuses stereo, of which a page has none, and says what to do', () => {
    const format = { encoding: 'pcm', sampleRateHz: 8000, channels: 2 } as const
    expect(() => browser.recognize({ url: 'wss://localhost', token: 't', model: 'm', format })).toThrow(
      expect.objectContaining({ code: 'invalid-format', message: expect.stringContaining('deinterleave') as string }),
    )
  })
})
