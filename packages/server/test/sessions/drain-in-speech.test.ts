import { describe, expect, it } from 'vitest'
import { flushPromises } from '../../../service/test/virtual-clock.js'
import {
  connectDataflow,
  nothingLeft as nothingLeftOf,
  scriptedNode,
  start,
  finalize,
} from '../dataflow/dataflow-connection.js'
import {
  brief,
  finalizeRecognition,
  inState,
  nothingLeft,
  parsed,
  untilFinal,
  type RecognizerInState,
} from '../recognizer/recognizer-connection.js'
import { spoken } from './spoken.js'

/** The agent speaks from 520 ms to 3430 ms. */
const inSpeech = async (): Promise<RecognizerInState> => {
  const connection = await inState('running')
  connection.gate$.complete()
  connection.send((await spoken(1_500)).subarray(0, 24_000))
  await flushPromises()
  expect(connection.since()).not.toContain('milestone-result "hello world"')
  connection.drain$.next({ pauseWithinMs: 8_000 })
  await flushPromises()
  return connection
}

const after = async (fromMs: number, toMs: number): Promise<Uint8Array> =>
  (await spoken(toMs)).subarray(fromMs * 16, toMs * 16)

describe('a drain during speech on a recognition socket', () => {
  it('lets the segment end in its pause, and accepts nothing after it', async () => {
    const connection = await inSpeech()
    expect([connection.since().filter((text) => !text.startsWith('partial')), connection.end()]).toEqual([
      [],
      undefined,
    ])
    // The second sentence begins at 6.4 s.
    connection.send(await after(1_500, 3_000), await after(3_000, 8_000))
    const received = (await untilFinal(connection)).map(parsed)
    expect(received.at(-1)).toMatchObject({ 'operation-result': 'Success', text: 'hello world', 'end-msec': '3430' })
    expect(await connection.ended).toBe('going-away')
    nothingLeft(connection, connection.engine)
  })

  it('cuts the segment when it has not ended in time', async () => {
    const connection = await inSpeech()
    const vowels = await after(1_000, 1_500)
    for (let atMs = 500; atMs < 8_000; atMs += 500) {
      connection.clock.advanceTo(atMs)
      connection.send(vowels)
      await flushPromises()
    }
    connection.clock.advanceTo(7_999)
    await flushPromises()
    expect(connection.since().filter((text) => text.startsWith('final'))).toEqual([])
    connection.clock.advanceTo(8_000)
    expect((await untilFinal(connection)).map(brief)).toContain('final-result: Success "hello world"')
    expect(await connection.ended).toBe('going-away')
    nothingLeft(connection, connection.engine)
  })

  it('waits a second for audio that does not arrive', async () => {
    const connection = await inSpeech()
    connection.clock.advanceTo(999)
    await flushPromises()
    expect([connection.since().filter((text) => text.startsWith('final')), connection.end()]).toEqual([[], undefined])
    connection.clock.advanceTo(1_000)
    expect(parsed((await untilFinal(connection)).at(-1) ?? '')).toMatchObject({
      text: 'hello world',
      'end-msec': '1500',
    })
    expect(await connection.ended).toBe('going-away')
    nothingLeft(connection, connection.engine)
  })

  it('does not report that it finalizes audio that it has dropped, while the engine still decodes earlier audio', async () => {
    const connection = await inState('running')
    connection.send(await after(0, 4_500))
    await flushPromises()
    connection.drain$.next({ pauseWithinMs: 8_000 })
    // The second sentence begins at 6.4 s.
    connection.send(await after(4_500, 8_000), finalizeRecognition)
    await flushPromises()
    expect(connection.since().filter((text) => text.startsWith('fin'))).toEqual(['finalize-recognition: going-away'])
    connection.gate$.complete()
    expect(parsed((await untilFinal(connection)).at(-1) ?? '')).toMatchObject({
      text: 'hello world',
      'end-msec': '3430',
    })
    expect(await connection.ended).toBe('going-away')
    nothingLeft(connection, connection.engine)
  })

  it('ends when the client finalizes, and immediately when there is no time', async () => {
    const finalized = await inSpeech()
    finalized.send(finalizeRecognition)
    expect((await untilFinal(finalized)).map(brief)).toContain('finalize-recognition: Success')
    expect(await finalized.ended).toBe('going-away')
    nothingLeft(finalized, finalized.engine)

    const hurried = await inState('running')
    hurried.gate$.complete()
    hurried.send(await after(0, 1_500))
    await flushPromises()
    hurried.drain$.next({ pauseWithinMs: -1_000 })
    expect((await untilFinal(hurried)).map(brief)).toContain('final-result: Success "hello world"')
    nothingLeft(hurried, hurried.engine)
  })
})

describe('a drain of a dataflow session with a node that waits for a pause', () => {
  const waiting = async () => {
    const node = scriptedNode()
    const connection = connectDataflow(node.open, {}, undefined, true)
    connection.send(start())
    await flushPromises()
    connection.since()
    connection.drain$.next({ pauseWithinMs: 8_000 })
    return { ...connection, node }
  }

  it('continues until the node has ended, and then ends with going-away', async () => {
    const connection = await waiting()
    connection.clock.advanceTo(7_999)
    expect([connection.since(), connection.end(), connection.node.account.finished]).toEqual([[], undefined, false])
    connection.node.output$.complete()
    expect(connection.end()).toBe('going-away')
    nothingLeftOf(connection, connection.node)
  })

  it('finalizes it when it has not ended in time, and when the client does', async () => {
    const late = await waiting()
    late.clock.advanceTo(8_000)
    expect([late.since(), late.end()]).toEqual([['flushed'], 'going-away'])
    nothingLeftOf(late, late.node)

    const asked = await waiting()
    asked.send(finalize)
    expect([asked.since(), asked.end()]).toEqual([['Finalize: success', 'flushed'], 'going-away'])
    nothingLeftOf(asked, asked.node)
  })
})
