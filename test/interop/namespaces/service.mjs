// Verifying services in a network namespace of their own, one for each session. Speaks by IPC: what it is told is
// { host, certificate, key, count, source }; it answers with where each listens, and to 'prove' with what each has heard.
import { verifyingService } from 'rxspeech/testing'

process.once('message', async ({ host, certificate, key, count, source }) => {
  const services = Array.from({ length: count }, () => verifyingService({ milestoneEveryMs: 500, partialEveryMs: 100 }))
  const listening = await Promise.all(
    services.map((service) => service.listen({ host, certificate: { certificate, key } })),
  )
  process.send(listening.map(({ url, address }) => ({ url, address })))
  process.once('message', async () => {
    const proofs = services.map((service) => ({
      proof: service.verify(source),
      transcript: service.transcript(source),
      foreignSamples: service.connections.reduce((sum, connection) => sum + connection.foreignSamples, 0),
    }))
    await Promise.all(listening.map((service) => service.close()))
    process.send(proofs, () => process.disconnect())
  })
})
