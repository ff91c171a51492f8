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
      'interleave',
      'isSpeechError',
      'keepFresh',
      'recognize',
      'requestToken',
      'transcode',
    ])
  })

  it('is a part of the door of Node, where only recognize has another socket', () => {
    const { recognize, ...same } = browser
    expect(node).toMatchObject(same)
    expect(recognize).not.toBe(node.recognize)
  })
})
