// Verifying services in a separate network namespace, one for each session. IPC: receives { host, certificate, key,
// count, source }; replies with the addresses, and to 'prove' with what each has received.
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
