import { describe, expect, it } from 'vitest'
import * as browser from '../../src/browser.js'
import * as node from '../../src/index.js'

describe('the entry point for browsers', () => {
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

  it('is a subset of the entry point for Node, except that recognize uses another socket', () => {
    const { recognize, ...same } = browser
    expect(node).toMatchObject(same)
    expect(recognize).not.toBe(node.recognize)
  })

  it('rejects stereo, which a page does not support, and explains what to do', () => {
    const format = { encoding: 'pcm', sampleRateHz: 8000, channels: 2 } as const
    expect(() => browser.recognize({ url: 'wss://localhost', token: 't', model: 'm', format })).toThrow(
      expect.objectContaining({ code: 'invalid-format', message: expect.stringContaining('deinterleave') as string }),
    )
  })
})
