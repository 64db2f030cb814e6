"""Where an HTTP agent may be, and the addresses its name stands for (FORMATS 5).

Two people say where an agent is. The operator, in the settings of this installation, may name any host. The
author of a manifest is a stranger to this network: an endpoint from there must be a public address, or the
worker becomes a way into whatever it can reach. The name is resolved once, every address is looked at, and
the connection goes to an address that was looked at, so that a second answer of the name server changes
nothing.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from dataclasses import dataclass

import httpx

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

# Public by their numbers, but answered by the cloud's own host: they hand out credentials.
_METADATA = frozenset(
    map(
        ipaddress.ip_address,
        (
            "169.254.169.254",
            "168.63.129.16",
            "100.100.100.200",
            "192.0.0.192",
            "fd00:ec2::254",
            "fd20:ce::254",
        ),
    )
)
_GLOBAL_IPV6 = ipaddress.ip_network("2000::/3")
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
MAX_ADDRESSES = 8


class EndpointError(ValueError):
    """The endpoint cannot be used: what was found and what is allowed."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where requests go: ``{endpoint}/run``. `is_trusted`: the operator named it, any address will do."""

    run_url: httpx.URL
    is_trusted: bool

    @property
    def host(self) -> str:
        return self.run_url.host

    @property
    def shown(self) -> str:
        return str(self.run_url)


def read_endpoint(text: object, *, is_trusted: bool) -> Endpoint:
    """The endpoint of an address as it is written in the settings or in a manifest.

    Raises:
        EndpointError: not an http or https address, or one with credentials, query or fragment; from a
            manifest also an address that is plainly not public. Names are not resolved here.
    """
    if not isinstance(text, str) or not text.isprintable() or any(c.isspace() or c == "\\" for c in text):
        raise EndpointError("the endpoint must be an http or https address without blanks")
    try:
        url = httpx.URL(text)
        has_port = url.port is None or 0 < url.port < 65536
    except (httpx.InvalidURL, ValueError) as problem:
        raise EndpointError(f"the endpoint is no address: {problem}") from None
    if url.scheme not in ("http", "https") or not url.host or not has_port:
        raise EndpointError("the endpoint must be an http or https address with a host and a usable port")
    if "@" in text.partition("//")[2].partition("/")[0]:
        raise EndpointError("the endpoint must not carry credentials")
    if "?" in text or "#" in text:
        raise EndpointError("the endpoint must not have a query or a fragment")
    endpoint = Endpoint(url.copy_with(raw_path=url.raw_path.rstrip(b"/") + b"/run"), is_trusted)
    if not is_trusted and (reason := _plainly_refused(url.host)) is not None:
        raise EndpointError(f"the manifest's endpoint {endpoint.host} is {reason}; {_ASK_THE_OPERATOR}")
    return endpoint


def refused_address(address: Address) -> str | None:
    """What kind of address it is if a manifest must not lead there, else None."""
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        return "an IPv4 address written as IPv6"
    for inner in (address, *_embedded(address)):
        if (kind := _not_public(inner)) is not None:
            return kind
    return None


async def addresses_of(endpoint: Endpoint) -> tuple[str, ...]:
    """The addresses to connect to, in the resolver's order.

    Raises:
        OSError: the name cannot be resolved.
        EndpointError: one of its addresses is not public and the endpoint is a manifest's. One is enough: a
            name that mixes public and inner addresses is up to something.
    """
    url = endpoint.run_url
    port = url.port or (443 if url.scheme == "https" else 80)
    found = await asyncio.get_running_loop().getaddrinfo(endpoint.host, port, type=socket.SOCK_STREAM)
    addresses = tuple(dict.fromkeys(str(sockaddr[0]) for *_, sockaddr in found))
    if not addresses:
        raise OSError(f"{endpoint.host} has no address")
    if not endpoint.is_trusted:
        for text in addresses:
            if (reason := refused_address(ipaddress.ip_address(text))) is not None:
                raise EndpointError(
                    f"the manifest's endpoint {endpoint.host} leads to {text}, {reason}; {_ASK_THE_OPERATOR}"
                )
    return addresses[:MAX_ADDRESSES]


_ASK_THE_OPERATOR = "such an agent is named by the operator, in AGENTTWIN_AGENT_ENDPOINTS"


def _plainly_refused(host: str) -> str | None:
    try:
        return refused_address(ipaddress.ip_address(host))
    except ValueError:
        name = host.rstrip(".").lower()
        return "this machine itself" if name == "localhost" or name.endswith(".localhost") else None


def _embedded(address: Address) -> tuple[Address, ...]:
    """IPv4 addresses that packets to an IPv6 address are handed on to."""
    if not isinstance(address, ipaddress.IPv6Address):
        return ()
    if address in _NAT64:
        return (ipaddress.IPv4Address(address.packed[-4:]),)
    if address.teredo is not None:
        return address.teredo
    return () if address.sixtofour is None else (address.sixtofour,)


def _not_public(address: Address) -> str | None:
    if address in _METADATA:
        return "a metadata address of a cloud"
    if address.is_unspecified:
        return "the unspecified address"
    if address.is_loopback:
        return "a loopback address"
    if address.is_link_local:
        return "a link-local address"
    if address.is_multicast:
        return "a multicast address"
    if isinstance(address, ipaddress.IPv6Address) and address in _NAT64:
        return None  # the IPv4 address inside decides
    is_inside = isinstance(address, ipaddress.IPv6Address) and address not in _GLOBAL_IPV6
    if is_inside or not address.is_global or address.is_reserved:
        return "a private or reserved address"
    return None
