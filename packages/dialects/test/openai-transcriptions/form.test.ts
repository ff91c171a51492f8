import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { expect, it } from 'vitest'
import { readUploadForm } from '../../src/openai-transcriptions/form.js'

it('a form with a long part without a name is read to its end', async () => {
  const request = new IncomingMessage(new Socket())
  request.headers['content-type'] = 'multipart/form-data; boundary=b'
  request.complete = true
  const body = Buffer.from(`--b\r\nX: y\r\n\r\n${'a'.repeat(200_000)}\r\n--b--\r\n`)
  for (let at = 0; at < body.length; at += 60_000) request.push(body.subarray(at, at + 60_000))
  request.push(null)
  const read = readUploadForm(request, { maxBytes: 1_000, signal: new AbortController().signal })
  await expect(read).rejects.toMatchObject({ status: 400, code: 'missing_required_parameter' })
})
