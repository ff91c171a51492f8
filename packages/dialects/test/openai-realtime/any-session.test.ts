import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { runs } from '../../../../test/thorough.js'
import { completed, delta, openRealtime, type Event } from './realtime-client.js'

/** What the client does, and the recognizer, in any order. */
const ofClient = fc.oneof(
  { weight: 4, arbitrary: fc.record({ type: fc.constant('append' as const), bytes: fc.integer({ min: 1, max: 99 }) }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constantFrom('commit' as const, 'clear' as const) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('turns' as const), isOfClient: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('rate' as const), rate: fc.constantFrom(8_000, 24_000) }) },
)
const ofRecognizer = fc.record({
  type: fc.constantFrom('Speech Started', 'Speech Ended', 'SR No Match', 'segment', 'segment', 'final'),
})
const session = fc.array(fc.oneof(ofClient, ofRecognizer), { maxLength: 40, size: 'max' })

const idOf = (event: Event) => event['item_id'] as string

describe('any session', () => {
  it('completes every committed item once, and loses or repeats no text', async () => {
    await fc.assert(
      fc.asyncProperty(session, async (actions) => {
        const client = await openRealtime({ requestBurst: 10_000 })
        const { tell } = client
        client.update({})
        const texts: string[] = []
        const isCleared = actions.some(({ type }) => type === 'clear')
        let atMs = 0
        for (const step of actions) {
          if ('bytes' in step) client.append(new Uint8Array(step.bytes))
          else if ('isOfClient' in step)
            client.update({ turn_detection: step.isOfClient ? null : { type: 'server_vad' } })
          else if ('rate' in step) client.update({ format: { type: 'audio/pcm', rate: step.rate } })
          else if (step.type === 'commit' || step.type === 'clear') client.send(`input_audio_buffer.${step.type}`)
          else {
            client.append(new Uint8Array(2))
            const place = { startMs: atMs, endMs: (atMs += 1) }
            if (step.type === 'final') client.final()
            else if (step.type !== 'segment') tell({ message: 'event', name: step.type, ...place })
            else {
              texts.push(`text ${texts.length}`)
              tell({ message: 'milestone-result', text: texts.at(-1) ?? '', ...place })
            }
          }
        }
        client.append(new Uint8Array(100))
        client.send('input_audio_buffer.commit')

        expect(client.log.filter((line) => line.startsWith('socket'))).toEqual([])
        for (const { error } of client.of('error'))
          expect(error).toMatchObject({ code: 'input_audio_buffer_commit_empty' })
        const committed = client.of('input_audio_buffer.committed')
        const done = client.of(completed)
        expect(done.map(idOf).toSorted()).toEqual(committed.map(idOf).toSorted())
        expect(committed.map((event) => event['previous_item_id'])).toEqual(
          [null, ...committed.map(idOf)].slice(0, committed.length),
        )
        for (const event of done) {
          const deltas = client.of(delta).filter((part) => idOf(part) === idOf(event))
          expect(deltas.map((part) => part['delta']).join('')).toBe(event['transcript'])
        }
        const heard = done.map(({ transcript }) => transcript as string).filter((text) => text !== '')
        if (isCleared) expect(texts.join(' ')).toEqual(expect.stringContaining(heard[0] ?? ''))
        else expect(heard.join(' ')).toBe(texts.join(' '))
        client.serving.unsubscribe()
      }),
      { numRuns: runs(400) },
    )
  })

  it('of a client that commits has one item for each commit, at once', async () => {
    const commits = fc.array(fc.constantFrom('append', 'commit', 'segment', 'final'), { maxLength: 40, size: 'max' })
    await fc.assert(
      fc.asyncProperty(commits, async (actions) => {
        const client = await openRealtime({ requestBurst: 10_000 })
        client.update({ turn_detection: null })
        let expected: string[] = []
        for (const step of actions) {
          const text = `text ${expected.length}`
          if (step === 'commit') {
            const count = client.of('error', completed).length
            client.send('input_audio_buffer.commit')
            const [answer] = client.of('error', completed).slice(count)
            if (answer?.type === completed) expect(answer['transcript']).toBe(expected.join(' '))
            expected = []
            continue
          }
          client.append(new Uint8Array(20))
          if (step === 'final') client.final()
          if (step !== 'segment') continue
          expected.push(text)
          client.tell({ message: 'milestone-result', text, startMs: 0, endMs: 1 })
        }
        const commitCount = actions.filter((step) => step === 'commit').length
        expect(client.of('error', completed)).toHaveLength(commitCount)
        client.serving.unsubscribe()
      }),
      { numRuns: runs(400) },
    )
  })
})
