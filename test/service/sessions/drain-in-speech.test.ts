import { describe, expect, it } from 'vitest'
import { turn } from '../virtual-clock.js'
import { dataflowTalk, nothingLeft as nothingLeftOf, scriptedNode, start, finalize } from '../dataflow/dataflow-talk.js'
import {
  brief,
  finalizeRecognition,
  inState,
  nothingLeft,
  parsed,
  untilFinal,
  type Scene,
} from '../recognizer/recognizer-talk.js'
import { spoken } from './spoken.js'

/** The agent speaks from 520 ms to 3430 ms. */
const inSpeech = async (): Promise<Scene> => {
  const one = await inState('running')
  one.gate$.complete()
  one.say((await spoken(1_500)).subarray(0, 24_000))
  await turn()
  expect(one.since()).not.toContain('milestone-result "hello world"')
  one.drain$.next({ pauseWithinMs: 8_000 })
  await turn()
  return one
}

const after = async (fromMs: number, toMs: number): Promise<Uint8Array> =>
  (await spoken(toMs)).subarray(fromMs * 16, toMs * 16)

describe('a drain while somebody speaks on a recognition socket', () => {
  it('lets the segment end in its pause, and takes nothing after it', async () => {
    const one = await inSpeech()
    expect([one.since().filter((told) => !told.startsWith('partial')), one.end()]).toEqual([[], undefined])
    // The second sentence begins at 6.4 s.
    one.say(await after(1_500, 3_000), await after(3_000, 8_000))
    const heard = (await untilFinal(one)).map(parsed)
    expect(heard.at(-1)).toMatchObject({ 'operation-result': 'Success', text: 'hello world', 'end-msec': '3430' })
    expect(await one.ended).toBe('going-away')
    nothingLeft(one, one.engine)
  })

  it('cuts it when it has not ended in time', async () => {
    const one = await inSpeech()
    const vowels = await after(1_000, 1_500)
    for (let atMs = 500; atMs < 8_000; atMs += 500) {
      one.clock.advanceTo(atMs)
      one.say(vowels)
      await turn()
    }
    one.clock.advanceTo(7_999)
    await turn()
    expect(one.since().filter((told) => told.startsWith('final'))).toEqual([])
    one.clock.advanceTo(8_000)
    expect((await untilFinal(one)).map(brief)).toContain('final-result: Success "hello world"')
    expect(await one.ended).toBe('going-away')
    nothingLeft(one, one.engine)
  })

  it('waits a second for audio that does not come', async () => {
    const one = await inSpeech()
    one.clock.advanceTo(999)
    await turn()
    expect([one.since().filter((told) => told.startsWith('final')), one.end()]).toEqual([[], undefined])
    one.clock.advanceTo(1_000)
    expect(parsed((await untilFinal(one)).at(-1) ?? '')).toMatchObject({ text: 'hello world', 'end-msec': '1500' })
    expect(await one.ended).toBe('going-away')
    nothingLeft(one, one.engine)
  })

  it('does not say that it finalizes audio that it has dropped, while the engine still reads what came before', async () => {
    const one = await inState('running')
    one.say(await after(0, 4_500))
    await turn()
    one.drain$.next({ pauseWithinMs: 8_000 })
    // The second sentence begins at 6.4 s.
    one.say(await after(4_500, 8_000), finalizeRecognition)
    await turn()
    expect(one.since().filter((told) => told.startsWith('fin'))).toEqual(['finalize-recognition: going-away'])
    one.gate$.complete()
    expect(parsed((await untilFinal(one)).at(-1) ?? '')).toMatchObject({ text: 'hello world', 'end-msec': '3430' })
    expect(await one.ended).toBe('going-away')
    nothingLeft(one, one.engine)
  })

  it('ends when the client finalizes, and at once when there is no time', async () => {
    const finalized = await inSpeech()
    finalized.say(finalizeRecognition)
    expect((await untilFinal(finalized)).map(brief)).toContain('finalize-recognition: Success')
    expect(await finalized.ended).toBe('going-away')
    nothingLeft(finalized, finalized.engine)

    const hurried = await inState('running')
    hurried.gate$.complete()
    hurried.say(await after(0, 1_500))
    await turn()
    hurried.drain$.next({ pauseWithinMs: -1_000 })
    expect((await untilFinal(hurried)).map(brief)).toContain('final-result: Success "hello world"')
    nothingLeft(hurried, hurried.engine)
  })
})

describe('a drain of a dataflow session one node of which waits for a pause', () => {
  const waiting = async () => {
    const node = scriptedNode()
    const one = dataflowTalk(node.open, {}, undefined, true)
    one.say(start())
    await turn()
    one.since()
    one.drain$.next({ pauseWithinMs: 8_000 })
    return { ...one, node }
  }

  it('goes on until the node has ended, and then ends for going away', async () => {
    const one = await waiting()
    one.clock.advanceTo(7_999)
    expect([one.since(), one.end(), one.node.account.finished]).toEqual([[], undefined, false])
    one.node.says$.complete()
    expect(one.end()).toBe('going-away')
    nothingLeftOf(one, one.node)
  })

  it('finalizes it when it has not ended in time, and when the client does', async () => {
    const late = await waiting()
    late.clock.advanceTo(8_000)
    expect([late.since(), late.end()]).toEqual([['flushed'], 'going-away'])
    nothingLeftOf(late, late.node)

    const asked = await waiting()
    asked.say(finalize)
    expect([asked.since(), asked.end()]).toEqual([['Finalize: success', 'flushed'], 'going-away'])
    nothingLeftOf(asked, asked.node)
  })
})
