import { describe, expect, it } from 'vitest'
import { audio, byCommits, bySpeech, completed, delta, failed, openRealtime, type Event } from './realtime-client.js'

describe('a session', () => {
  it('stops to read audio that the recognizer does not take, and continues', async () => {
    const client = await bySpeech({ links: { highWaterMarkBytes: 10_000, lowWaterMarkBytes: 5_000 } })
    client.append(audio)
    client.far.pause()
    for (let count = 0; count < 10; count += 1) client.append(audio)
    expect(client.page.isCongested).toBe(true)
    client.far.resume()
    expect(client.page.isCongested).toBe(false)
    expect(client.audio()).toHaveLength(11 * audio.length)
  })

  it('handles a client that answers within an event in order', async () => {
    const client = await byCommits({ texts: ['good'] })
    client.onEvent(({ type }) => {
      if (type !== completed || client.of(completed).length > 3) return
      client.append(audio)
      client.send('input_audio_buffer.commit')
    })
    client.append(audio)
    client.send('input_audio_buffer.commit')
    expect(client.of(completed)).toHaveLength(4)
    expect(client.types().filter((type) => type !== 'conversation.item.done')).toEqual(
      [
        ['session.created', 'session.updated'],
        ...Array.from({ length: 4 }, () => [
          'input_audio_buffer.committed',
          'conversation.item.added',
          delta,
          completed,
        ]),
      ].flat(),
    )
    expect(client.events.map((event) => event['event_id'])).toEqual(client.events.map((_, at) => `event_${at + 1}`))
  })

  it('reports a text once it can be sent', async () => {
    const client = await openRealtime()
    client.page.send(Uint8Array.of(1, 2))
    client.page.send('[]')
    client.send('input_audio_buffer.append', { audio: '*', event_id: 'e' })
    client.send('hello')
    expect(client.of('error').map(({ error }) => error)).toMatchObject([
      { code: 'invalid_message' },
      { code: 'invalid_message' },
      { code: 'invalid_audio', param: 'audio', event_id: 'e' },
      { code: 'invalid_value', param: 'type' },
    ])
  })
})

describe('the items of a session', () => {
  it('can be retrieved and deleted, the last hundred', async () => {
    const client = await byCommits({ texts: ['good'], requestBurst: 1_000 })
    for (let count = 0; count < 101; count += 1) {
      client.append(audio)
      client.send('input_audio_buffer.commit')
    }
    const ids = client.of(completed).map((event) => event['item_id'])
    const [forgotten, item_id] = ids
    client.send('conversation.item.retrieve', { item_id })
    expect(client.of('conversation.item.retrieved')).toMatchObject([
      {
        item: {
          id: item_id,
          role: 'user',
          status: 'completed',
          content: [{ type: 'input_audio', transcript: 'good' }],
        },
      },
    ])
    client.send('conversation.item.delete', { item_id })
    client.send('conversation.item.retrieve', { item_id })
    client.send('conversation.item.retrieve', { item_id: forgotten })
    expect(client.of('conversation.item.deleted')).toMatchObject([{ item_id }])
    expect(client.of('error')).toMatchObject([
      { error: { code: 'item_not_found' } },
      { error: { code: 'item_not_found' } },
    ])
  })
})

describe('the end of a session', () => {
  it('fails open items and says why before it closes', async () => {
    const client = await byCommits({ isSlow: true })
    client.append(audio)
    client.send('input_audio_buffer.commit')
    client.far.close({ code: 'engine-failed', message: 'The engine has failed.' })
    const error = { type: 'server_error', code: 'engine_failed', message: 'The engine has failed.' }
    expect(client.events.slice(-2)).toMatchObject([
      { type: failed, content_index: 0, error },
      { type: 'error', error },
    ])
    expect(client.log).toContain('socket ended: engine-failed')
  })

  it('has its final results, and that of a service that closes', async () => {
    const client = await byCommits({ texts: ['good'] })
    client.append(audio)
    client.send('input_audio_buffer.commit')
    client.far.close({ code: 'going-away', message: 'The service is closing.' })
    expect(client.of(failed)).toEqual([])
    expect(client.of('error')).toMatchObject([{ error: { code: 'going_away' } }])
    expect(client.log).toContain('socket ended: going-away')
  })

  it('is a normal one after a silence that is too long', async () => {
    const client = await byCommits()
    client.far.close()
    expect(client.of('error')).toMatchObject([{ error: { code: 'session_expired' } }])
    expect(client.log).toContain('socket ended')
  })

  it('closes the conversation when the client leaves, and when the service ends it', async () => {
    const left = await byCommits()
    left.page.close()
    expect(left.log).toContain('conversation closed')
    const ended = await byCommits()
    ended.serving.unsubscribe()
    expect(ended.log).toContain('conversation closed')
    expect(ended.log).toContain('socket ended: going-away')
  })

  it('comes for a client that sends what cannot be read, again and again', async () => {
    const client = await openRealtime()
    for (let count = 0; count < 300; count += 1) client.page.send('{')
    expect(client.log).toContain('socket ended: invalid-field')
    expect(client.of('error').length).toBeLessThan(210)
    expect(client.of('error').map(({ error }) => (error as Event)['code'])).toEqual(
      expect.arrayContaining(['invalid_message', 'too_many_requests']),
    )
  })

  it('comes for a client that does not read', async () => {
    const client = await openRealtime()
    client.page.pause()
    client.append(audio)
    client.tell({ message: 'milestone-result', text: 'a'.repeat(900_000), startMs: 0, endMs: 1 })
    client.tell({ message: 'milestone-result', text: 'b'.repeat(900_000), startMs: 1, endMs: 2 })
    expect(client.log).toContain('conversation closed')
    client.page.resume()
    expect(client.log).toContain('socket ended: overloaded')
  })

  it('comes for a client that makes too many requests', async () => {
    const client = await openRealtime()
    for (let count = 0; count < 300; count += 1) client.update({})
    expect(client.log).toContain('socket ended: too-many-requests')
    expect(client.of('session.updated')).toHaveLength(100)
  })
})
