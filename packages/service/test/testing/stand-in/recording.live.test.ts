import { mkdtemp, rm } from 'node:fs/promises'
import { get } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { existsSync, readFileSync } from 'node:fs'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { describe, expect, it } from 'vitest'
import { readCassette } from '../../../../../src/cassette/format/read-cassette.js'
import { cassetteList } from '../../../src/cli/view/cassette-list.js'
import { standIn } from '../../../src/testing/stand-in/stand-in.js'
import { openListen, openSocket, sendAll, speech } from './raw-client.js'

describe('a stand-in that records', () => {
  it('writes the messages of a client of a vendor as a cassette, without its key', async () => {
    const record = await mkdtemp(join(tmpdir(), 'stand-in-'))
    const vendor = await standIn({ dialect: 'deepgram', script: 'one', record, key: 'secret-key' })
    try {
      const client = await openListen(vendor)
      sendAll(client, [{ type: 'KeepAlive', note: 'secret-key' }, ...speech(700), { type: 'CloseStream' }])
      await client.until('closed 1000')
      await vendor.sessions[0]?.ended
      const path = join(record, 'deepgram-listen-1.jsonl')
      await expect.poll(() => existsSync(path)).toBe(true)
      const { header, lines } = await readCassette(path)
      expect(header).toMatchObject({ transport: 'websocket', format: { encoding: 'pcm', sampleRateHz: 8000 } })
      expect(JSON.stringify(lines)).not.toContain('secret-key')
      const messages = lines.flatMap((line) => (line.event === 'sent' || line.event === 'received' ? [line] : []))
      expect(messages.map(({ event, bytes, text = '' }) => `${event} ${bytes ?? text.slice(0, 18)}`)).toEqual([
        'sent {"type":"KeepAlive',
        ...speech(600).map(() => 'sent 1600'),
        'received {"type":"Results",',
        'sent 1600',
        'sent {"type":"CloseStre',
        'received {"type":"Metadata"',
      ])
      expect(lines.at(-1)).toMatchObject({ event: 'end', outcome: 'complete' })
    } finally {
      await vendor.close()
      await rm(record, { recursive: true })
    }
  })

  it('names the messages of a client, and counts its audio in base64', async () => {
    const record = await mkdtemp(join(tmpdir(), 'stand-in-'))
    const vendor = await standIn({ dialect: 'openai', script: 'one', record })
    try {
      const client = openSocket(vendor, '/v1/realtime?model=gpt-transcribe')
      await client.until('session.created')
      const audio = Buffer.from(new Uint8Array(48_000)).toString('base64')
      const appended = { type: 'input_audio_buffer.append', audio }
      sendAll(client, [appended, { type: 'input_audio_buffer.commit' }])
      await client.until('conversation.item.done')
      client.socket.close()
      await vendor.sessions[0]?.ended
      const path = join(record, 'openai-realtime-1.jsonl')
      await expect.poll(() => existsSync(path) && readFileSync(path, 'utf8')).toContain('"event":"end"')
      const rows = cassetteList(await readCassette(path)).match(/\d\.\d\d s {2}[→←] {2}\S+$/gm)
      expect(rows).toEqual(
        expect.arrayContaining([
          '0.00 s  ←  session.created',
          '1.00 s  →  input_audio_buffer.commit',
          '1.00 s  ←  conversation.item.input_audio_transcription.completed',
        ]),
      )
      expect(rows?.join()).not.toContain('append')
    } finally {
      await vendor.close()
      await rm(record, { recursive: true })
    }
  })

  it('listens with TLS, with a certificate that it removes', async () => {
    const vendor = await standIn({ dialect: 'openai', tls: true, faults: [] })
    const { ca } = vendor
    const request = get(`${vendor.url}/stand-in/sessions`, { ca: ca?.pem })
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    expect(response.statusCode).toBe(200)
    response.destroy()
    expect([vendor.wsUrl.slice(0, 6), existsSync(ca?.path ?? '')]).toEqual(['wss://', true])
    await vendor.close()
    expect(existsSync(ca?.path ?? '')).toBe(false)
  })
})
