"""Where a manifest may send the worker, and where only the operator may."""

from __future__ import annotations

import asyncio
import ipaddress

import pytest

from evaluations.agents.endpoints import EndpointError, addresses_of, read_endpoint, refused_address

REFUSED = [
    ("127.0.0.1", "loopback"),
    ("127.255.255.254", "loopback"),
    ("::1", "loopback"),
    ("0.0.0.0", "unspecified"),
    ("::", "unspecified"),
    ("0.1.2.3", "private"),
    ("10.1.2.3", "private"),
    ("172.16.0.1", "private"),
    ("172.31.255.255", "private"),
    ("192.168.0.1", "private"),
    ("100.64.0.1", "private"),
    ("198.18.0.1", "private"),
    ("192.0.2.1", "private"),
    ("240.0.0.1", "private"),
    ("255.255.255.255", "private"),
    ("169.254.1.1", "link-local"),
    ("fe80::1", "link-local"),
    ("fec0::1", "private"),
    ("fc00::1", "private"),
    ("fd12:3456::1", "private"),
    ("2001:db8::1", "private"),
    ("100::1", "private"),
    ("224.0.0.1", "multicast"),
    ("239.1.1.1", "multicast"),
    ("ff02::1", "multicast"),
    ("169.254.169.254", "metadata"),
    ("100.100.100.200", "metadata"),
    ("168.63.129.16", "metadata"),
    ("192.0.0.192", "metadata"),
    ("fd00:ec2::254", "metadata"),
    ("::ffff:10.0.0.1", "IPv4 address written as IPv6"),
    ("::ffff:93.184.216.34", "IPv4 address written as IPv6"),
    ("::127.0.0.1", "private"),
    ("64:ff9b::7f00:1", "loopback"),
    ("64:ff9b::a9fe:a9fe", "metadata"),
    ("64:ff9b:1::1", "private"),
    ("2002:7f00:1::", "loopback"),
    ("2002:a00:1::", "private"),
    ("2001:0:a00:1::", "private"),
]


@pytest.mark.parametrize(("address", "kind"), REFUSED)
def test_an_address_that_is_not_public_is_refused(address: str, kind: str) -> None:
    assert kind in (refused_address(ipaddress.ip_address(address)) or "")


@pytest.mark.parametrize(
    "address",
    ["93.184.216.34", "8.8.8.8", "172.32.0.1", "2606:2800:220:1::1", "2a00:1450::1", "64:ff9b::808:808"],
)
def test_a_public_address_is_not(address: str) -> None:
    assert refused_address(ipaddress.ip_address(address)) is None


@pytest.mark.parametrize(
    "text",
    [
        "http://127.0.0.1/agent",
        "http://localhost:9000",
        "http://LOCALHOST.",
        "http://agent.localhost",
        "https://[::1]:8443",
        "http://169.254.169.254",
        "https://[::ffff:8.8.8.8]",
        "http://10.0.0.7:8080/x",
    ],
)
def test_a_manifest_may_not_name_it_and_the_operator_may(text: str) -> None:
    with pytest.raises(EndpointError, match="AGENTTWIN_AGENT_ENDPOINTS"):
        read_endpoint(text, is_trusted=False)
    assert read_endpoint(text, is_trusted=True).is_trusted


@pytest.mark.parametrize("text", ["http://2130706433", "http://0x7f.1", "http://127.1"])
def test_other_ways_to_write_loopback_are_found_after_resolution(text: str) -> None:
    endpoint = read_endpoint(text, is_trusted=False)
    with pytest.raises((EndpointError, OSError), match=r"loopback|resol|not known|Name"):
        asyncio.run(addresses_of(endpoint))


@pytest.mark.parametrize("is_trusted", [True, False])
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ftp://agent.example", "http or https"),
        ("file:///etc/passwd", "http or https"),
        ("//agent.example", "http or https"),
        ("agent.example", "http or https"),
        ("http://", "host"),
        ("http:///run", "host"),
        ("http://agent.example:0", "host"),
        ("http://agent.example:99999", "port"),
        ("http://0177.0.0.1", "address"),
        ("http://user:pass@agent.example", "credentials"),
        ("http://user@agent.example", "credentials"),
        ("http://@agent.example", "credentials"),
        ("http://agent.example/?x=1", "query"),
        ("http://agent.example/?", "query"),
        ("http://agent.example/#a", "fragment"),
        ("http://agent.example/a b", "blanks"),
        ("http://agent.example\\@inside", "blanks"),
        ("http://agent.example/\x00", "blanks"),
        ("http://agent.example/\r\nX: y", "blanks"),
        ("", "http or https"),
        (5, "http or https"),
        (None, "http or https"),
    ],
)
def test_what_is_no_plain_address_is_refused_whoever_says_it(
    text: object, said: str, is_trusted: bool
) -> None:
    with pytest.raises(EndpointError, match=said):
        read_endpoint(text, is_trusted=is_trusted)


def test_an_operator_may_name_loopback_and_is_resolved_as_it_is() -> None:
    assert asyncio.run(addresses_of(read_endpoint("http://127.0.0.1:9/x", is_trusted=True))) == ("127.0.0.1",)
