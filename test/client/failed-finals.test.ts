import { NEVER } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { SpeechError } from '../../src/errors/speech-error.js'
import type { DataflowMessage } from '../../src/transport/link.js'
import { close, event, format, plainDataflow, scriptedService, virtually, type Answer } from './virtual-session.js'

const final = (channel: number, error?: string): DataflowMessage =>
  event(JSON.stringify({ Name: 'SR Final', Channel: channel, Data: { Text: 'hello', Error: error } }))
const broken = 'engine-failed: Broken.'
const status = new SpeechError('engine-failed', 'Broken.')

/** A stream of two channels that ends as given, after finalize or by itself. */
describe.each([
  ['after finalize', 'end', '15ms f'],
  ['by itself', 'audio', undefined],
] as const)('a gRPC stream that ends %s', (_when, at, finalizeAt) => {
  it.each<[string, Answer<DataflowMessage>]>([
    ['an error in the final of one channel and the status of the error', [5, final(0), final(1, broken), status]],
    ['an error in the final of one channel and the status OK', [5, final(0, broken), final(1), close]],
    ['an error in the only final and the status OK', [5, final(1, broken), close]],
    ['an error in a final that follows a regular one', [5, final(0), final(0, broken), final(1), close]],
    ['an error in a final that a regular one follows', [5, final(0, broken), final(0), final(1), close]],
  ])('with %s fails', (_how, answer) => {
    virtually(({ clock, watch, flowing, cold }) => {
      const service = scriptedService<DataflowMessage>(clock, [
        { Start: plainDataflow(0)['Start'] ?? [0], [at]: answer },
      ])
      const source$ = cold('10ms a', { a: new Uint8Array(320) })
      const finalize$ = finalizeAt === undefined ? NEVER : cold(finalizeAt)
      const { log } = watch(flowing({ dial: service.dial, format: { ...format, channels: 2 }, finalize$ })(source$))
      return () => {
        expect(log.filter((line) => line.includes('final hello'))).toHaveLength(answer.length - 2)
        expect(log.slice(-2).map((line) => line.replace(/^\d+ /, ''))).toEqual(['failed', 'error engine-failed'])
      }
    })
  })
})

it('a gRPC stream that stays open after finalize fails with the error of its final, and not for its deadline', () => {
  virtually(({ clock, watch, flowing, cold }) => {
    const service = scriptedService<DataflowMessage>(clock, [
      { Start: plainDataflow(0)['Start'] ?? [0], end: [5, final(0, broken)] },
    ])
    const source$ = cold('10ms a', { a: new Uint8Array(160) })
    const { log } = watch(flowing({ dial: service.dial, finalize$: cold('15ms f') })(source$))
    return () => {
      expect(log.slice(-2).map((line) => line.replace(/^\d+ /, ''))).toEqual(['failed', 'error engine-failed'])
      expect([service.dials.open, clock.pending()]).toEqual([0, 0])
    }
  })
})

it('a gRPC stream that stays open after the final with an error is closed after a second', () => {
  virtually(({ clock, watch, flowing }) => {
    const service = scriptedService<DataflowMessage>(clock, [
      { Start: [0, ...(plainDataflow(0)['Start'] ?? [0]).slice(1), final(0, broken)] as Answer<DataflowMessage> },
    ])
    const { log } = watch(flowing({ dial: service.dial })(NEVER))
    return () => {
      expect(log.slice(-3)).toEqual(['1000 final hello on 0', '1000 failed', '1000 error engine-failed'])
      expect([service.dials.open, clock.pending()]).toEqual([0, 0])
    }
  })
})
