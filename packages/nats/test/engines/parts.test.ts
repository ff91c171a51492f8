import { Observable, Subject } from 'rxjs'
import { describe, expect, it } from 'vitest'
import type { Engine, Hypothesis, SegmentListener, SegmentPart } from '../../../engines/src/engine.js'
import { FleetSegment, type SegmentFleet } from '../../src/engines/fleet-segment.js'
import { HostedSegment } from '../../src/engines/hosted-segment.js'
import { decodeAnswer, encodeJson, type EngineAnswer, type EngineRequest } from '../../src/engines/protocol.js'

const nothing = (): undefined => undefined
const address = { name: 'one', instance: '0123456789abcdef' }

const edge = () => {
  const events: string[] = []
  const results: Parameters<SegmentListener['decided']>[] = []
  const sent: EngineRequest[] = []
  const listener: SegmentListener = {
    progress: nothing,
    checked: nothing,
    decidedPart: (sampleCount, _words, text) => events.push(`part ${sampleCount} ${text?.text}`),
    decided: (words, text) => {
      events.push(`decided ${text?.text}`)
      results.push([words, text])
    },
    failed: ({ code }) => events.push(`failed ${code}`),
  }
  const fleet: SegmentFleet = {
    send: (_engine, _attempt, request) => sent.push(request) > 0,
    onLost: (cause) => events.push(`lost ${cause}`),
    onUntaken: (_segment, _engine, cause) => events.push(`lost ${cause}`),
    isSlow: () => false,
    hasFaster: () => false,
    ...{ queue: nothing, release: nothing, leave: nothing, onDecided: nothing, onFailed: nothing, onFull: nothing },
  }
  const start = { arrival: 1, startMs: 0, settings: {}, before: Int16Array.of(1, -2, 3) }
  const segment = new FleetSegment({ label: 'a/b/1', sampleRateHz: 1000 }, start, listener, fleet)
  segment.open(address, 1, false)
  segment.receive({ t: 'yes' })
  segment.write(new Int16Array(500))
  segment.close(500, false, Int16Array.of(4))
  return { segment, events, results, sent }
}
const part = (from: number, text: string): EngineAnswer => ({ t: 'part', from, samples: 100, text, words: [] })

/** A segment at an engine process whose engine says what the test says. */
const hosted = (parts: boolean) => {
  const received: SegmentPart[] = []
  const hypothesis$ = new Subject<Hypothesis>()
  const answers: EngineAnswer[] = []
  const engine = {
    capabilities: { sampleRateHz: 1000 },
    recognize: () => (input$: Observable<SegmentPart>) =>
      new Observable<Hypothesis>((subscriber) => {
        subscriber.add(input$.subscribe((one) => received.push(one)))
        subscriber.add(hypothesis$.subscribe(subscriber))
      }),
  } as unknown as Engine
  const host = { answer: (answer: EngineAnswer) => answers.push(answer), onFault: nothing, ended: nothing }
  const segment = new HostedSegment(engine, { startMs: 0, settings: {}, before: Int16Array.of(7), parts }, host)
  const say = (text: string, decidedSamples?: number) =>
    hypothesis$.next({
      ...{ type: 'segment', startMs: 0, endMs: 100, text, words: [] },
      ...(decidedSamples !== undefined && { decidedSamples }),
    })
  return { segment, received, answers, say, hypothesis$ }
}

describe('a segment over NATS that is decided in parts', () => {
  it('takes each part once, and the audio around it travels with it', () => {
    const { segment, events, sent } = edge()
    segment.receive(part(0, 'one'))
    segment.receive(part(0, 'one'))
    segment.receive(part(100, 'two'))
    segment.receive({ t: 'decided', from: 200, text: 'three', words: [] })
    expect(events).toEqual(['part 100 one', 'part 100 two', 'decided three'])
    expect(sent[0]).toMatchObject({ type: 'open', before: 'AQD+/wMA', parts: true })
    expect(sent.find(({ type }) => type === 'close')).toMatchObject({ after: 'BAA=' })
  })

  it('is lost with a part that did not arrive', () => {
    const behind = edge()
    behind.segment.receive(part(100, 'two'))
    expect(behind.events).toEqual(['lost gap', 'failed engine-failed'])
    const end = edge()
    end.segment.receive({ t: 'decided', from: 100, text: 'two', words: [] })
    expect(end.events).toEqual(['lost gap', 'failed engine-failed'])
  })

  it('is answered part by part, as messages that decode', () => {
    const { received, answers, say } = hosted(true)
    say('one', 100)
    say('two')
    expect(received[0]).toMatchObject({ type: 'open', before: Int16Array.of(7) })
    expect(answers.slice(1).map((answer) => decodeAnswer(Buffer.from(encodeJson(answer))))).toEqual([
      { t: 'part', from: 0, samples: 100, text: 'one', words: [] },
      { t: 'decided', text: 'two', words: [], from: 100 },
    ])
  })

  it('passes a result from the engine to the edge unchanged', () => {
    const { answers, hypothesis$ } = hosted(true)
    const { segment, results } = edge()
    const words = [{ text: 'one', startMs: 0, endMs: 100, confidence: 0.5 }]
    const text = { text: 'one', confidence: 0.5, slots: { digit: '1' }, isIncomplete: true }
    hypothesis$.next({ type: 'segment', startMs: 0, endMs: 100, words, ...text })
    segment.receive(decodeAnswer(Buffer.from(encodeJson(answers.at(-1) ?? { t: 'full' }))))
    expect(results).toEqual([[words, text]])
  })

  it('is answered at once to an edge that takes no parts', () => {
    const { answers, say } = hosted(false)
    say('one', 100)
    say('two')
    expect(answers.slice(1)).toEqual([{ t: 'decided', text: 'one two', words: [] }])
  })
})
